//! What a check is, and what it may look at.

use std::path::Path;

use crate::error::Error;
use crate::python::{self, Python, Subject, Torch};

/// One thing that has to be right.
pub struct Check {
    /// Stable, dotted: `torch.installed`.
    pub id: &'static str,
    pub title: &'static str,
    pub run: fn(&Place) -> Found,
}

/// What a check found. Those that are not well say what to do next.
pub enum Found {
    Pass(String),
    /// Tries work, with a limit.
    Warn(String, String),
    /// Tries do not work.
    Fail(String, String),
    /// Not looked at, and why.
    Skip(String),
}

/// The environment under examination.
pub struct Place {
    pub python: Result<Python, Error>,
}

impl Place {
    pub fn new(named: Option<&Path>) -> Place {
        Place { python: python::find(named).and_then(|path| python::ask(&path, Subject::Nothing)) }
    }

    /// The torch to look at, or why a check about it is skipped.
    pub fn torch(&self) -> Result<&Torch, Found> {
        let torch = self.python.as_ref().ok().and_then(|python| python.torch.as_ref());
        torch.ok_or_else(|| Found::Skip("no torch to look at".into()))
    }
}

/// An error of ours, as a finding.
pub fn fail(error: &Error) -> Found {
    Found::Fail(error.to_string(), error.hint().unwrap_or_else(|| "mend that and ask again".into()))
}
