//! Jupyter notebooks: the code cells as one text, and the way back into the JSON without touching anything else.
//!
//! The JSON is scanned, not parsed into a tree: only where each code cell's `source` stands matters. A fix rewrites that one
//! value, in the style it had (one string, or a list with a string per line), and leaves every other byte alone.

use super::json::{self, Scanner, Value};
use crate::parse::{TextRange, TextSize};

#[derive(Debug, Clone)]
pub struct Notebook {
    raw: String,
    cells: Vec<Cell>,
}

/// One code cell.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its number among all cells, from 1.
    pub number: usize,
    /// Where its code stands in the joined text.
    pub range: TextRange,
    /// Where the value of `source` stands in the JSON.
    json: std::ops::Range<usize>,
    style: Style,
    /// A cell in another language (`%%bash`): kept out of the parser.
    pub is_python: bool,
    /// The code ends in `;`, which keeps its value out of `Out[n]`.
    pub is_silent: bool,
}

#[derive(Debug, Clone)]
enum Style {
    String,
    /// One string a line, with this white space between them.
    List {
        separator: String,
        open: String,
        close: String,
    },
}

impl Notebook {
    /// Reads a notebook; also gives the joined code.
    pub fn read(raw: String) -> Result<(Notebook, String), String> {
        let mut found = Vec::new();
        let mut scanner = Scanner::new(&raw);
        find_cells(&mut scanner, &mut found)?;
        let mut code = String::new();
        let mut cells = Vec::new();
        for (number, cell_source) in found {
            let text = cell_source.text;
            let start = TextSize::new(code.len() as u32);
            code.push_str(&text);
            let range = TextRange::new(start, TextSize::new(code.len() as u32));
            code.push('\n');
            let is_python = !is_other_language(&text);
            let is_silent = text.trim_end().ends_with(';');
            cells.push(Cell { number, range, json: cell_source.at, style: cell_source.style, is_python, is_silent });
        }
        Ok((Notebook { raw, cells }, code))
    }

    pub fn raw(&self) -> &str {
        &self.raw
    }

    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub fn cell_at(&self, offset: TextSize) -> Option<&Cell> {
        let at = self.cells.partition_point(|cell| cell.range.end() < offset);
        self.cells.get(at).filter(|cell| cell.range.start() <= offset)
    }

    /// The JSON with new code in some cells, given as number and text.
    pub fn with_cells(&self, changed: &[(usize, String)]) -> String {
        let mut out = String::with_capacity(self.raw.len());
        let mut done = 0;
        for cell in &self.cells {
            if let Some((_, text)) = changed.iter().find(|(number, _)| *number == cell.number) {
                out.push_str(&self.raw[done..cell.json.start]);
                cell.style.write(text, &mut out);
                done = cell.json.end;
            }
        }
        out.push_str(&self.raw[done..]);
        out
    }
}

impl Style {
    fn write(&self, text: &str, out: &mut String) {
        match self {
            Style::String => json::write_string(text, out),
            Style::List { .. } if text.is_empty() => out.push_str("[]"),
            Style::List { separator, open, close } => {
                out.push('[');
                out.push_str(open);
                for (index, line) in text.split_inclusive('\n').enumerate() {
                    if index > 0 {
                        out.push(',');
                        out.push_str(separator);
                    }
                    json::write_string(line, out);
                }
                out.push_str(close);
                out.push(']');
            }
        }
    }
}

struct CellSource {
    at: std::ops::Range<usize>,
    text: String,
    style: Style,
}

/// Walks `cells` of the top object (and of `worksheets`, as notebooks before version 4 have them not: those are refused).
fn find_cells(scanner: &mut Scanner<'_>, found: &mut Vec<(usize, CellSource)>) -> Result<(), String> {
    let mut has_cells = false;
    scanner.object(&mut |scanner, key| {
        if key != "cells" {
            return scanner.skip();
        }
        has_cells = true;
        let mut number = 0;
        scanner.array(&mut |scanner| {
            number += 1;
            if let Some(source) = code_cell(scanner)? {
                found.push((number, source));
            }
            Ok(())
        })
    })?;
    if has_cells { Ok(()) } else { Err("not a notebook: it has no `cells`".to_owned()) }
}

fn code_cell(scanner: &mut Scanner<'_>) -> Result<Option<CellSource>, String> {
    let mut is_code = false;
    let mut source = None;
    scanner.object(&mut |scanner, key| match key {
        "cell_type" => {
            is_code = matches!(scanner.value()?, Value::String(kind) if kind == "code");
            Ok(())
        }
        "source" => {
            source = Some(cell_source(scanner)?);
            Ok(())
        }
        _ => scanner.skip(),
    })?;
    Ok(source.filter(|_| is_code))
}

fn cell_source(scanner: &mut Scanner<'_>) -> Result<CellSource, String> {
    let start = scanner.position();
    if scanner.peek() == Some(b'"') {
        let text = scanner.string()?;
        return Ok(CellSource { at: start..scanner.position(), text, style: Style::String });
    }
    let (mut text, mut ends, mut starts) = (String::new(), Vec::new(), Vec::new());
    scanner.array(&mut |scanner| {
        starts.push(scanner.position());
        text.push_str(&scanner.string()?);
        ends.push(scanner.position());
        Ok(())
    })?;
    let at = start..scanner.position();
    let raw = scanner.text();
    let style = match (starts.first(), ends.last()) {
        (Some(first), Some(last)) => Style::List {
            open: raw[start + 1..*first].to_owned(),
            separator: match (ends.first(), starts.get(1)) {
                (Some(end), Some(next)) => raw[end + 1..*next].to_owned(),
                _ => raw[start + 1..*first].to_owned(),
            },
            close: raw[*last..at.end - 1].to_owned(),
        },
        _ => Style::List { open: String::new(), separator: " ".to_owned(), close: String::new() },
    };
    Ok(CellSource { at, text, style })
}

/// `%%bash` and the like: the whole cell is something else. `%%time` and `%%capture` run Python.
fn is_other_language(text: &str) -> bool {
    let Some(magic) = text.trim_start().strip_prefix("%%") else { return false };
    let name: String = magic.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    !matches!(&name[..], "time" | "timeit" | "capture" | "prun" | "python" | "python3" | "memit" | "pypy")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "source": ["# title"]
  },
  {
   "cell_type": "code",
   "outputs": [{"data": {"text/plain": ["x"]}}],
   "source": [
    "import torch\n",
    "model.eval"
   ]
  },
  {"cell_type": "code", "source": "!ls\nprint(\"\u00e9\");"},
  {"cell_type": "code", "source": ["%%bash\n", "ls"]}
 ],
 "nbformat": 4
}
"##;

    #[test]
    fn cells_are_joined_and_numbered() {
        let (notebook, code) = Notebook::read(NOTEBOOK.to_owned()).unwrap();
        assert_eq!(code, "import torch\nmodel.eval\n!ls\nprint(\"é\");\n%%bash\nls\n");
        let numbers: Vec<_> = notebook.cells().iter().map(|c| (c.number, c.is_python, c.is_silent)).collect();
        assert_eq!(numbers, [(2, true, false), (3, true, true), (4, false, false)]);
        assert_eq!(notebook.cell_at(13.into()).unwrap().number, 2);
        assert_eq!(notebook.cell_at(24.into()).unwrap().number, 3);
    }

    #[test]
    fn a_changed_cell_changes_nothing_else() {
        let (notebook, _) = Notebook::read(NOTEBOOK.to_owned()).unwrap();
        let changed = notebook.with_cells(&[(2, "import torch\nmodel.eval()".to_owned())]);
        assert_eq!(changed, NOTEBOOK.replace("model.eval", "model.eval()"));
        assert_eq!(notebook.with_cells(&[]), NOTEBOOK);
    }

    #[test]
    fn damage_is_refused() {
        for bad in
            ["", "{", "[]", "{\"cells\": [{]}", "{\"cells\": 3}", "{\"nbformat\": 4}", "{\"cells\": [\"\\u12\"]}"]
        {
            assert!(Notebook::read(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
