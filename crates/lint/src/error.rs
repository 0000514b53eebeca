//! What can go wrong before any file is read.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("unknown rule `{0}`")]
    UnknownRule(String),
    #[error("invalid pattern `{pattern}`: {message}")]
    Pattern { pattern: String, message: String },
    #[error("worker threads could not be started: {0}")]
    Threads(String),
}
