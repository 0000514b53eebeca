//! A file's text, what kind of file it is, and where its lines are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::inputs::lines::LineFormat;
use crate::inputs::notebook::Notebook;
use crate::parse::{TextRange, TextSize};

/// What a file is read as.
#[derive(Debug, Clone)]
pub enum Shape {
    Script,
    Notebook(Notebook),
    /// Shell, YAML, Dockerfile: only environment settings and launch commands are read.
    Lines(LineFormat),
}

/// One input file. For notebooks `text` is the code cells, one after the other.
#[derive(Debug, Clone)]
pub struct Source {
    path: Arc<Path>,
    text: String,
    shape: Shape,
    line_starts: OnceLock<Vec<u32>>,
}

/// A stretch of a file: bytes of the text, and lines and columns as people count them (from 1, in characters).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    pub start: usize,
    pub end: usize,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
    /// The notebook cell, counted from 1 over all cells; lines then count inside it.
    pub cell: Option<usize>,
}

impl Source {
    pub fn script(path: impl Into<PathBuf>, text: impl Into<String>) -> Source {
        Source::new(path.into(), text.into(), Shape::Script)
    }

    pub(crate) fn new(path: PathBuf, text: String, shape: Shape) -> Source {
        Source { path: path.into(), text, shape, line_starts: OnceLock::new() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn shared_path(&self) -> Arc<Path> {
        Arc::clone(&self.path)
    }

    /// The text that ranges point into.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub fn notebook(&self) -> Option<&Notebook> {
        match &self.shape {
            Shape::Notebook(notebook) => Some(notebook),
            _ => None,
        }
    }

    /// What the file holds on disk.
    pub fn raw(&self) -> &str {
        self.notebook().map_or(&self.text, Notebook::raw)
    }

    /// The line break that this file uses.
    pub fn line_ending(&self) -> &'static str {
        match memchr::memchr(b'\n', self.text.as_bytes()) {
            Some(at) if at > 0 && self.text.as_bytes()[at - 1] == b'\r' => "\r\n",
            _ => "\n",
        }
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let breaks = memchr::memchr_iter(b'\n', self.text.as_bytes()).map(|at| at as u32 + 1);
            std::iter::once(0).chain(breaks).collect()
        })
    }

    /// The line of an offset, counted from 0 over the whole text.
    pub fn line_of(&self, offset: TextSize) -> usize {
        self.line_starts().partition_point(|start| *start <= offset.to_u32()) - 1
    }

    /// Where a line begins, and where it ends without its line break.
    pub fn line_range(&self, line: usize) -> TextRange {
        let starts = self.line_starts();
        let start = starts[line.min(starts.len() - 1)] as usize;
        let end = starts.get(line + 1).map_or(self.text.len(), |next| *next as usize);
        let shorn = self.text[start..end].trim_end_matches(['\n', '\r']).len();
        TextRange::at(TextSize::new(start as u32), TextSize::new(shorn as u32))
    }

    /// The white space that the line of an offset begins with.
    pub fn indentation(&self, offset: TextSize) -> &str {
        let line = &self.text[self.line_range(self.line_of(offset))];
        let code = line.trim_start_matches([' ', '\t', '\u{feff}', '\x0c']);
        line[..line.len() - code.len()].trim_start_matches('\u{feff}')
    }

    /// A range as people read it.
    pub fn span(&self, range: TextRange) -> Span {
        let (start_line, column) = self.position(range.start());
        let (end_line, end_column) = self.position(range.end());
        let cell = self.notebook().and_then(|notebook| notebook.cell_at(range.start()));
        let above = cell.map_or(0, |cell| self.line_of(cell.range.start()));
        Span {
            start: range.start().to_usize(),
            end: range.end().to_usize(),
            line: start_line - above,
            column,
            end_line: end_line - above,
            end_column,
            cell: cell.map(|cell| cell.number),
        }
    }

    fn position(&self, offset: TextSize) -> (usize, usize) {
        let line = self.line_of(offset);
        let start = self.line_starts()[line] as usize;
        let before = &self.text[start..offset.to_usize().max(start)];
        (line + 1, before.trim_start_matches('\u{feff}').chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_count_characters_from_one() {
        let source = Source::script("a.py", "x = 1\nété = 'ü' + y\n");
        let start = source.text().find("y").unwrap() as u32;
        let span = source.span(TextRange::at(start.into(), 1.into()));
        assert_eq!((span.line, span.column, span.end_column), (2, 13, 14));
    }

    #[test]
    fn line_endings_are_found() {
        assert_eq!(Source::script("a.py", "a\r\nb\r\n").line_ending(), "\r\n");
        assert_eq!(Source::script("a.py", "a\nb\r\n").line_ending(), "\n");
    }

    #[test]
    fn indentation_is_the_lines_own() {
        let source = Source::script("a.py", "if x:\n    y = (1,\n      2)\n");
        assert_eq!(source.indentation(12.into()), "    ");
    }
}
