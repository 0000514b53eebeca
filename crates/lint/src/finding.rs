//! A finding: which rule, where, why, and how to mend it. Plain data, for every output format.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::check::Checked;
use crate::source::Span;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Advice: it may be meant.
    Note,
    /// Memory or time is wasted.
    Warning,
    /// It runs out of memory, crashes or trains wrongly.
    Error,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub code: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    /// One sentence: what is wrong and what it costs.
    pub message: String,
    pub path: Arc<Path>,
    pub span: Span,
    pub fix: Option<Fix>,
}

/// Edits that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What the fix does, as an order: "Move `zero_grad()` behind `step()`".
    pub title: String,
    /// It keeps the meaning of the program, or mends it without a doubt.
    pub safe: bool,
    pub edits: Vec<Edit>,
}

/// One replacement in a file's text (of a notebook's joined cells).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

/// Something that kept a file from being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: Arc<Path>,
    pub kind: ProblemKind,
    pub message: String,
    /// Where, for syntax errors.
    pub span: Option<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// The file does not exist or may not be read.
    Unreadable,
    NotUtf8,
    Syntax,
    TooLarge,
    TooDeep,
    /// `pyproject.toml` or a notebook is damaged.
    Malformed,
    /// A fix would have broken the file and was not applied.
    FixRefused,
}

impl ProblemKind {
    /// Whether the file could not be checked for a reason that the user must know; a size limit is only a remark.
    pub fn is_error(self) -> bool {
        !matches!(self, ProblemKind::TooLarge | ProblemKind::TooDeep | ProblemKind::FixRefused)
    }
}

/// What a check of many files gave. Sorted by path and place.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub findings: Vec<Finding>,
    pub problems: Vec<Problem>,
    /// Files that were looked at.
    pub files: usize,
}

impl Report {
    pub(crate) fn add(&mut self, checked: Checked) {
        self.findings.extend(checked.findings);
        self.problems.extend(checked.problems);
    }

    /// Puts what is found in some files now in the place of what was said about them.
    pub fn replace(&mut self, files: &[PathBuf], now: Report) {
        let is_other = |path: &Path| !files.iter().any(|file| file == path);
        self.findings.retain(|finding| is_other(&finding.path));
        self.problems.retain(|problem| is_other(&problem.path));
        self.add(Checked { findings: now.findings, problems: now.problems });
        self.sort();
    }

    pub(crate) fn sort(&mut self) {
        self.findings.sort_by(|a, b| order(a).cmp(&order(b)));
        self.findings.dedup();
        self.problems.sort_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
    }
}

fn order(finding: &Finding) -> (&Path, usize, usize, &str, &str) {
    (&finding.path, finding.span.start, finding.span.end, finding.code, &finding.message)
}
