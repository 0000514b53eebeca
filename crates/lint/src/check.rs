//! Checking one file: parse, find facts, run the rules that want what is there, drop what comments silence.

mod dispatch;
mod python2;

use std::collections::BTreeSet;

use crate::config::Selection;
use crate::facts::Facts;
use crate::finding::{Edit, Finding, Fix, Problem, ProblemKind};
use crate::inputs::{lines, notebook::Cell, settings::Setting};
use crate::parse::{self, Parsed, SyntaxError, TextRange};
use crate::project::Project;
use crate::registry;
use crate::sink::{Draft, Sink};
use crate::source::{Shape, Source};
use crate::suppress::Suppressions;

/// What one file gave.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    pub findings: Vec<Finding>,
    pub problems: Vec<Problem>,
}

/// Walking needs this much stack at the deepest nesting that is accepted.
const STACK: usize = 48 << 20;

/// Checks one source with the selected rules.
pub fn check(source: &Source, project: &Project, selection: &Selection) -> Checked {
    stacker::maybe_grow(STACK / 2, STACK, || match source.shape() {
        Shape::Lines(format) => check_lines(source, *format, selection),
        _ => check_python(source, project, selection),
    })
}

/// Only whether it is Python at all, for files that no rule can have anything to say about.
pub fn check_syntax(source: &Source) -> Checked {
    stacker::maybe_grow(STACK / 2, STACK, || {
        let parsed = parse_source(source, &[]);
        let problems = parsed.errors().next().map(|error| syntax_problem(source, &error)).into_iter().collect();
        parsed.forget_if_deep(source);
        Checked { findings: Vec::new(), problems }
    })
}

/// Whether a fix left everything whole: what does not parse did not parse before.
pub fn is_as_sound(fixed: &Source, before: &Source) -> bool {
    match fixed.shape() {
        Shape::Lines(_) => true,
        _ => stacker::maybe_grow(STACK / 2, STACK, || {
            let broken = broken_cells(fixed);
            broken.is_empty() || broken.is_subset(&broken_cells(before))
        }),
    }
}

/// The numbers of the cells that do not parse; a script is one cell.
fn broken_cells(source: &Source) -> BTreeSet<usize> {
    let parsed = parse_source(source, &[]);
    let cell_of = |error: SyntaxError| source.notebook().and_then(|n| n.cell_at(error.range.start()));
    let broken = parsed.errors().map(|error| cell_of(error).map_or(0, |cell| cell.number)).collect();
    parsed.forget_if_deep(source);
    broken
}

fn check_python(source: &Source, project: &Project, selection: &Selection) -> Checked {
    let mut checked = Checked::default();
    let mut parsed = parse_source(source, &[]);
    if parsed.has_errors() {
        let errors: Vec<SyntaxError> = parsed.errors().collect();
        checked.problems.extend(errors.first().map(|error| syntax_problem(source, error)));
        parsed.forget_if_deep(source);
        // A notebook with one broken cell is checked without it.
        if source.notebook().is_none() {
            return checked;
        }
        parsed = parse_source(source, &errors);
        if parsed.has_errors() {
            return checked;
        }
    }
    match Facts::new(source, &parsed, project) {
        Ok(facts) => {
            let drafts = run_rules(&facts, selection);
            let silenced = Suppressions::of(source, &parsed);
            checked.findings = finish(source, drafts, &silenced);
        }
        Err(_) => {
            let message = "nested too deeply: not checked".to_owned();
            checked.problems.push(Problem {
                path: source.shared_path(),
                kind: ProblemKind::TooDeep,
                message,
                span: None,
            });
            parsed.forget();
            return checked;
        }
    }
    checked
}

/// Parses a script, or the Python cells of a notebook without those that hold one of these errors.
fn parse_source(source: &Source, without: &[SyntaxError]) -> Parsed {
    let Some(notebook) = source.notebook() else { return parse::script(source.text()) };
    let is_broken = |cell: &Cell| without.iter().any(|e| cell.range.contains_inclusive(e.range.start()));
    let cells = notebook.cells().iter().map(|cell| (cell.range, cell.is_python && !is_broken(cell)));
    parse::cells(source.text(), cells)
}

fn syntax_problem(source: &Source, error: &SyntaxError) -> Problem {
    let line = &source.text()[source.line_range(source.line_of(error.range.start()))];
    let message = match python2::sign(line, &source.text()[error.range]) {
        Some(sign) => format!("{sign}, as in Python 2: not checked"),
        None => lower_first(&error.message),
    };
    Problem { path: source.shared_path(), kind: ProblemKind::Syntax, message, span: Some(source.span(error.range)) }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn run_rules<'r>(facts: &Facts<'_>, selection: &Selection) -> Vec<Draft<'r>> {
    let Some(first) = registry::all().first() else { return Vec::new() };
    let mut sink = Sink::new(first.rule);
    dispatch::run(facts, selection, &mut sink);
    if dispatch::some_rule_reads_settings(selection) {
        run_setting_rules(&facts.settings(), selection, &mut sink);
    }
    sink.drafts
}

fn run_setting_rules<'r>(settings: &[Setting<'_>], selection: &Selection, sink: &mut Sink<'r>) {
    for (index, entry) in registry::all().iter().enumerate() {
        let Some(check) = entry.rule.setting.filter(|_| selection.contains(index)) else { continue };
        sink.rule = entry.rule;
        sink.asked = selection.is_asked(index);
        settings.iter().for_each(|setting| check(setting, sink));
    }
}

fn check_lines(source: &Source, format: lines::LineFormat, selection: &Selection) -> Checked {
    let settings = lines::settings(source.text(), format);
    let Some(first) = registry::all().first().filter(|_| !settings.is_empty()) else { return Checked::default() };
    let mut sink = Sink::new(first.rule);
    run_setting_rules(&settings, selection, &mut sink);
    let findings = finish(source, sink.drafts, &Suppressions::of_lines(source));
    Checked { findings, problems: Vec::new() }
}

fn finish(source: &Source, drafts: Vec<Draft<'_>>, silenced: &Suppressions) -> Vec<Finding> {
    let kept = drafts.into_iter().filter(|draft| !silenced.cover(draft.rule, draft.range, source));
    let mut findings: Vec<Finding> = kept.map(|draft| finding(source, draft)).collect();
    findings.sort_by(|a, b| (a.span.start, a.span.end, a.code).cmp(&(b.span.start, b.span.end, b.code)));
    findings.dedup_by(|a, b| (a.span, a.code) == (b.span, b.code));
    findings
}

fn finding(source: &Source, draft: Draft<'_>) -> Finding {
    let span = |range: TextRange| source.span(range);
    let fix = draft.fix.map(|fix| Fix {
        title: fix.title,
        safe: fix.safe,
        edits: fix.edits.into_iter().map(|e| Edit { span: span(e.range), text: e.text }).collect(),
    });
    Finding {
        code: draft.rule.code,
        name: draft.rule.name,
        severity: draft.severity,
        message: draft.message,
        path: source.shared_path(),
        span: span(draft.range),
        fix,
    }
}
