//! One file into a [`Source`], or the reason why not.

use std::path::Path;

use super::lines::LineFormat;
use super::notebook::Notebook;
use crate::finding::{Problem, ProblemKind};
use crate::source::{Shape, Source};

/// Larger files are generated: nobody writes a training script of this size. Notebooks with pictures may be large.
pub const LARGEST_SCRIPT: u64 = 4 << 20;
const LARGEST_NOTEBOOK: u64 = 64 << 20;

/// What a file is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Script,
    Notebook,
    Lines(LineFormat),
}

impl Input {
    pub fn of(path: &Path) -> Option<Input> {
        let name = path.file_name()?.to_str()?;
        match path.extension().and_then(|e| e.to_str()) {
            Some("py" | "pyw") => Some(Input::Script),
            Some("ipynb") => Some(Input::Notebook),
            _ => LineFormat::of(name).map(Input::Lines),
        }
    }

    /// What a file is whose name does not tell: `#!/bin/bash` begins a shell script, all else is Python.
    fn of_first_line(text: &str) -> Input {
        let first = text.lines().next().unwrap_or_default();
        let is_shell = |word: &str| matches!(word, "sh" | "bash" | "zsh" | "dash" | "ksh");
        match first.starts_with("#!") && first.split(['/', ' ']).any(is_shell) {
            true => Input::Lines(LineFormat::Shell),
            false => Input::Script,
        }
    }
}

/// Reads a file. `largest` of 0 is the usual limit. A file whose name says nothing is a shell script or Python.
pub fn read(path: &Path, largest: u64) -> Result<Source, Problem> {
    let problem = |kind, message: String| Problem { path: path.into(), kind, message, span: None };
    let input = Input::of(path);
    let limit = match (largest, input) {
        (0, Some(Input::Notebook)) => LARGEST_NOTEBOOK,
        (0, _) => LARGEST_SCRIPT,
        (given, _) => given,
    };
    let meta = std::fs::metadata(path).map_err(|e| problem(ProblemKind::Unreadable, cannot_read(&e)))?;
    if meta.len() > limit {
        let message = format!("{} bytes, more than the limit of {limit}: not checked", meta.len());
        return Err(problem(ProblemKind::TooLarge, message));
    }
    let bytes = std::fs::read(path).map_err(|e| problem(ProblemKind::Unreadable, cannot_read(&e)))?;
    let text = String::from_utf8(bytes)
        .map_err(|e| problem(ProblemKind::NotUtf8, format!("not UTF-8 at byte {}", e.utf8_error().valid_up_to())))?;
    let input = input.unwrap_or_else(|| Input::of_first_line(&text));
    shape(path, text, input).map_err(|message| problem(ProblemKind::Malformed, message))
}

/// Makes a source of text that is already there.
pub fn shape(path: &Path, text: String, input: Input) -> Result<Source, String> {
    Ok(match input {
        Input::Script => Source::new(path.to_path_buf(), text, Shape::Script),
        Input::Lines(format) => Source::new(path.to_path_buf(), text, Shape::Lines(format)),
        Input::Notebook => {
            let (notebook, code) = Notebook::read(text)?;
            Source::new(path.to_path_buf(), code, Shape::Notebook(notebook))
        }
    })
}

fn cannot_read(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
