//! One replacement in a file's text.

use crate::parse::{TextRange, TextSize};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub range: TextRange,
    pub text: String,
}

impl Edit {
    pub fn insert(at: TextSize, text: impl Into<String>) -> Edit {
        Edit { range: TextRange::empty(at), text: text.into() }
    }

    pub fn replace(range: TextRange, text: impl Into<String>) -> Edit {
        Edit { range, text: text.into() }
    }

    pub fn delete(range: TextRange) -> Edit {
        Edit { range, text: String::new() }
    }
}
