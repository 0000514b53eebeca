//! Applying fixes: none overlap, line endings stay, what comes out parses, and it is repeated until nothing is left to do.

use super::edit::Edit;
use crate::check::{self, Checked};
use crate::config::Selection;
use crate::finding::{self, Finding, Problem};
use crate::inputs::read::{self, Input};
use crate::parse::{TextRange, TextSize};
use crate::project::Project;
use crate::source::{Shape, Source};

/// A fix may bring out another one, but not for ever.
const ROUNDS: usize = 20;

/// Which fixes may be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apply {
    Safe,
    /// Those that are only suggested, too.
    Unsafe,
}

/// What fixing a file gave.
pub struct Fixed {
    /// The file after all fixes; the same as before when nothing was done.
    pub source: Source,
    /// The findings that were fixed.
    pub applied: Vec<Finding>,
    /// What is still to be found.
    pub remaining: Vec<Finding>,
    /// Fixes that would have broken the file.
    pub refused: Vec<Finding>,
    /// Why some or all of it could not be checked.
    pub problems: Vec<Problem>,
}

impl Fixed {
    pub fn changed(&self) -> bool {
        !self.applied.is_empty()
    }
}

/// Fixes a source as far as it goes.
pub fn fix(source: Source, project: &Project, selection: &Selection, apply: Apply) -> Fixed {
    let (applied, remaining, refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut fixed = Fixed { source, applied, remaining, refused, problems: Vec::new() };
    for _ in 0..ROUNDS {
        let Checked { findings, problems } = check::check(&fixed.source, project, selection);
        fixed.problems = problems;
        let wanted: Vec<&Finding> = findings.iter().filter(|f| may_apply(f, apply, &fixed.refused)).collect();
        let round = one_round(&fixed.source, &wanted);
        fixed.refused.extend(round.refused);
        match round.source {
            Some(next) => {
                fixed.source = next;
                fixed.applied.extend(round.applied);
            }
            None => {
                fixed.remaining = findings;
                return fixed;
            }
        }
    }
    fixed.remaining = check::check(&fixed.source, project, selection).findings;
    fixed
}

fn may_apply(finding: &Finding, apply: Apply, refused: &[Finding]) -> bool {
    let allowed = finding.fix.as_ref().is_some_and(|fix| fix.safe || apply == Apply::Unsafe);
    allowed && !refused.iter().any(|r| r.code == finding.code && r.fix == finding.fix)
}

#[derive(Default)]
struct Round {
    source: Option<Source>,
    applied: Vec<Finding>,
    refused: Vec<Finding>,
}

/// Applies as many fixes together as do not touch each other. If the result does not parse, one by one.
fn one_round(source: &Source, wanted: &[&Finding]) -> Round {
    let chosen = without_overlap(wanted);
    let all: Vec<&finding::Edit> = chosen.iter().flat_map(|f| &f.fix.as_ref().expect("chosen").edits).collect();
    if let Some(next) = (!all.is_empty()).then(|| apply_edits(source, &all)).flatten() {
        return Round { source: Some(next), applied: chosen.into_iter().cloned().collect(), refused: Vec::new() };
    }
    let mut round = Round::default();
    for finding in chosen {
        let edits: Vec<&finding::Edit> = finding.fix.iter().flat_map(|fix| &fix.edits).collect();
        match apply_edits(source, &edits) {
            // The others are tried again on the new text.
            Some(next) => {
                round.source = Some(next);
                round.applied.push(finding.clone());
                return round;
            }
            None => round.refused.push(finding.clone()),
        }
    }
    round
}

fn without_overlap<'f>(wanted: &[&'f Finding]) -> Vec<&'f Finding> {
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut chosen = Vec::new();
    for finding in wanted {
        let Some(fix) = &finding.fix else { continue };
        let ranges: Vec<(usize, usize)> = fix.edits.iter().map(|e| (e.span.start, e.span.end)).collect();
        let free = ranges.iter().all(|(start, end)| taken.iter().all(|(s, e)| end < s || e < start));
        if free {
            taken.extend(ranges);
            chosen.push(*finding);
        }
    }
    chosen
}

/// The source with these edits, or nothing when that would not be a valid file any more.
pub fn apply_edits(source: &Source, edits: &[&finding::Edit]) -> Option<Source> {
    let mut sorted: Vec<Edit> =
        edits.iter().map(|e| Edit { range: range(e.span.start, e.span.end), text: e.text.clone() }).collect();
    // Stable: several insertions at one place keep the order in which the rule gave them.
    sorted.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
    if sorted.windows(2).any(|pair| pair[0].range.end() > pair[1].range.start()) {
        return None;
    }
    let next = match source.shape() {
        Shape::Notebook(_) => notebook_with(source, &sorted)?,
        Shape::Script => {
            let text = replaced(source, range(0, source.text().len()), &sorted);
            read::shape(source.path(), text, Input::Script).ok()?
        }
        Shape::Lines(format) => {
            let text = replaced(source, range(0, source.text().len()), &sorted);
            read::shape(source.path(), text, Input::Lines(*format)).ok()?
        }
    };
    check::is_as_sound(&next, source).then_some(next)
}

/// Edits must stay inside their cell: the code between cells is not in the file.
fn notebook_with(source: &Source, edits: &[Edit]) -> Option<Source> {
    let notebook = source.notebook()?;
    let mut changed = Vec::new();
    let mut used = 0;
    for cell in notebook.cells() {
        let own: Vec<Edit> = edits.iter().filter(|e| cell.range.contains_range(e.range)).cloned().collect();
        if own.is_empty() {
            continue;
        }
        used += own.len();
        changed.push((cell.number, replaced(source, cell.range, &own)));
    }
    if used != edits.len() {
        return None;
    }
    read::shape(source.path(), notebook.with_cells(&changed), Input::Notebook).ok()
}

/// A part of the text with edits applied, new lines broken as the file's are.
fn replaced(source: &Source, within: TextRange, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(within.len().to_usize());
    let mut done = within.start();
    for edit in edits {
        out.push_str(&source.text()[TextRange::new(done, edit.range.start())]);
        match source.line_ending() {
            "\n" => out.push_str(&edit.text),
            ending => out.push_str(&edit.text.replace("\r\n", "\n").replace('\n', ending)),
        }
        done = edit.range.end();
    }
    out.push_str(&source.text()[TextRange::new(done, within.end())]);
    out
}

fn range(start: usize, end: usize) -> TextRange {
    TextRange::new(TextSize::new(start as u32), TextSize::new(end as u32))
}
