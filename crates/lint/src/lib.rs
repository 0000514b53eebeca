//! Reads training code for the mistakes that make GPUs run out of memory, or that break the remedies: one rule a file, findings
//! with edits.
//!
//! [`check_paths`] checks files and folders, [`check_source`] one text, [`fix_paths`] and [`fix_source`] mend what can be mended,
//! [`Watch`] checks again what changed.
//! The facts that rules ask for are in [`facts`]; how a rule is written is told in `rules/mod.rs`.

mod check;
mod config;
mod error;
pub mod facts;
mod finding;
pub mod fix;
pub mod inputs;
pub mod parse;
mod paths;
pub mod project;
mod registry;
pub mod rule;
mod rules;
mod sink;
mod source;
mod suppress;
mod watch;

pub use check::Checked;
pub use config::{Config, Options, Patterns, Selection, known as check_selectors};
pub use error::Error;
pub use finding::{Edit, Finding, Fix, Problem, ProblemKind, Report, Severity};
pub use fix::apply::{Apply, Fixed};
pub use fix::diff::unified as unified_diff;
pub use paths::{FixReport, FixedFile, check_paths, fix_paths};
pub use project::{Project, Projects};
pub use registry::{Entry, all as all_rules, find as find_rule};
pub use rule::Rule;
pub use sink::{Draft, Sink};
pub use source::{Shape, Source, Span};
pub use watch::{Seen, Watch};

/// Checks one source with the selected rules.
pub fn check_source(source: &Source, project: &Project, selection: &Selection) -> Checked {
    check::check(source, project, selection)
}

/// Fixes one source until nothing more can be fixed. Nothing is written.
pub fn fix_source(source: Source, project: &Project, selection: &Selection, apply: Apply) -> Fixed {
    fix::apply::fix(source, project, selection, apply)
}
