//! What a plan changes, as texts.

use std::path::{Path, PathBuf};

/// The user's files, as the caller reads them.
pub trait Files {
    /// The text of a file of the user's; `None` when it cannot be read or is not the user's to change.
    fn read(&self, path: &Path) -> Option<String>;

    /// The script that is run.
    fn script(&self) -> &Path;

    /// What stands behind the script on the command line.
    fn arguments(&self) -> &[String];
}

/// The change that puts a plan to work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// Path, text as it is, text as it should be.
    pub files: Vec<(PathBuf, String, String)>,
    /// Variables to set before the script is run.
    pub environment: Vec<(String, String)>,
    /// The arguments of the script, when they change.
    pub command: Option<Vec<String>>,
    /// What the reader of the change should know.
    pub notes: Vec<String>,
}

impl Patch {
    /// The changes of all files as one patch; names as given by `name`.
    pub fn diff(&self, name: impl Fn(&Path) -> PathBuf) -> String {
        self.files.iter().map(|(path, old, new)| lint::unified_diff(&name(path), old, new)).collect()
    }
}
