//! Questions that have no answer.

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    #[error("no page {0}")]
    NoPage(String),

    #[error("expected {expected} for `{name}`, found `{found}`")]
    BadParameter { name: &'static str, expected: &'static str, found: String },

    #[error("no {what} {which}")]
    NotThere { what: &'static str, which: String },
}
