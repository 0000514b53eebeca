//! From files to sources: scripts, notebooks, and the lines of shell, YAML and Docker files.

mod json;
pub mod lines;
pub mod notebook;
pub mod read;
pub mod settings;
pub mod walk;
