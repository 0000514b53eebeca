//! For people at a terminal: the lines around each finding, with the place marked, and what would mend it.

use std::path::Path;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use lint::{Finding, Severity, Source};

use super::shown;

/// Lines above and below the marked ones.
const AROUND: usize = 2;
/// A longer stretch is marked at its first line only: nobody reads a function to find its beginning.
const MOST_LINES: usize = 6;

/// Draws all findings. `read` is asked for each file once, in the order of the findings; without its text only the place is told.
pub fn full(findings: &[Finding], colour: bool, read: &mut dyn FnMut(&Path) -> Option<Source>) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for of_file in findings.chunk_by(|a, b| a.path == b.path) {
        let source = read(&of_file[0].path);
        for finding in of_file {
            out.push_str(&drawn(finding, source.as_ref(), &renderer));
            out.push_str("\n\n");
        }
    }
    out
}

fn drawn(finding: &Finding, source: Option<&Source>, renderer: &Renderer) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let path = match finding.span.cell {
        Some(cell) => format!("{}:cell {cell}", shown(&finding.path)),
        None => shown(&finding.path),
    };
    let excerpt = source.and_then(|source| Excerpt::of(finding, source));
    // The text of a file that changed meanwhile shows nothing rather than something else.
    let excerpt = excerpt.unwrap_or_else(|| Excerpt::empty(finding));
    let mark = AnnotationKind::Primary.span(excerpt.marked).label(finding.name);
    let snippet = Snippet::source(excerpt.text).line_start(excerpt.line).path(path).fold(false).annotation(mark);
    let group = level.primary_title(&finding.message).id(finding.code).element(snippet);
    let group = match help(finding) {
        Some(help) => group.element(Level::HELP.message(help)),
        None => group,
    };
    renderer.render(&[group])
}

fn help(finding: &Finding) -> Option<String> {
    let fix = finding.fix.as_ref()?;
    let option = if fix.safe { "--fix" } else { "--fix --unsafe-fixes" };
    Some(format!("{} (`{option}` does it)", fix.title))
}

/// A few lines of a file, and where in them the finding is.
struct Excerpt<'a> {
    text: &'a str,
    /// The number of its first line.
    line: usize,
    marked: std::ops::Range<usize>,
}

impl<'a> Excerpt<'a> {
    fn of(finding: &Finding, source: &'a Source) -> Option<Excerpt<'a>> {
        let span = &finding.span;
        let (text, from) = cell_around(source, span.start)?;
        let (start, end) = (span.start.checked_sub(from)?, span.end.checked_sub(from)?);
        text.get(start..end)?;
        let lines = span.end_line.saturating_sub(span.line) + 1;
        let end = if lines > MOST_LINES { line_end(text, start) } else { end };
        let above = AROUND.min(span.line.saturating_sub(1));
        let first = (0..above).fold(line_start(text, start), |at, _| line_start(text, at.saturating_sub(1)));
        let last = (0..AROUND).fold(line_end(text, end), |at, _| line_end(text, (at + 1).min(text.len())));
        let shown = text.get(first..last)?;
        Some(Excerpt { text: shown, line: span.line - above, marked: start - first..end - first })
    }

    fn empty(finding: &Finding) -> Excerpt<'a> {
        Excerpt { text: "", line: finding.span.line, marked: 0..0 }
    }
}

/// The whole text, or the code of the notebook's cell at an offset, and where that begins.
fn cell_around(source: &Source, offset: usize) -> Option<(&str, usize)> {
    let Some(notebook) = source.notebook() else { return Some((source.text(), 0)) };
    let ranges = notebook.cells().iter().map(|cell| (cell.range.start().to_usize(), cell.range.end().to_usize()));
    let (start, end) = ranges.into_iter().find(|(start, end)| (*start..=*end).contains(&offset))?;
    Some((source.text().get(start..end)?, start))
}

fn line_start(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

fn line_end(text: &str, offset: usize) -> usize {
    text.as_bytes()[offset..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| offset + at)
}
