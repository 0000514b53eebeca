//! What surrounds a file: the settings in its `pyproject.toml` and the versions of the libraries that its project asks for.

mod versions;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use crate::config::Config;
use crate::finding::{Problem, ProblemKind};
pub use versions::{Version, Versions};

/// The project that a file belongs to.
#[derive(Debug, Default)]
pub struct Project {
    /// The folder that holds its `pyproject.toml`, requirements or `.git`; empty when there is none.
    pub root: PathBuf,
    pub config: Config,
    pub versions: Versions,
}

impl Project {
    /// A project that is only known by requirements, one a line.
    pub fn with_requirements(text: &str) -> Project {
        let mut project = Project::default();
        project.versions.add("requirements.txt", text);
        project
    }

    /// Whether every version that the project allows is at least this one. Nothing when it does not say.
    pub fn at_least(&self, library: &str, major: u16, minor: u16) -> Option<bool> {
        self.versions.at_least(library, Version(major, minor))
    }

    /// Whether the project says that it runs with no version from this one on.
    pub fn only_before(&self, library: &str, major: u16, minor: u16) -> bool {
        self.versions.only_before(library, Version(major, minor))
    }

    /// Whether the project says that it runs with versions before this one.
    pub fn allows_before(&self, library: &str, major: u16, minor: u16) -> bool {
        self.at_least(library, major, minor) == Some(false)
    }
}

/// Projects by folder, each read once.
#[derive(Default)]
pub struct Projects {
    by_folder: Mutex<FxHashMap<PathBuf, Arc<Project>>>,
    problems: Mutex<Vec<Problem>>,
}

const FILES: &[&str] = &[
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "environment.yml",
    "environment.yaml",
    "uv.lock",
    "poetry.lock",
    "setup.cfg",
    "setup.py",
    "pdm.lock",
    "Pipfile.lock",
];

impl Projects {
    /// The project of a folder: the nearest one upwards that has project files.
    pub fn of(&self, folder: &Path) -> Arc<Project> {
        if let Some(known) = self.known(folder) {
            return known;
        }
        let project = match self.is_root(folder) {
            true => Arc::new(self.read(folder)),
            false => folder.parent().map_or_else(Arc::default, |parent| self.of(parent)),
        };
        let mut cache = self.by_folder.lock().unwrap_or_else(|e| e.into_inner());
        cache.entry(folder.to_path_buf()).or_insert(project).clone()
    }

    /// What was wrong with project files.
    pub fn problems(self) -> Vec<Problem> {
        self.problems.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    /// The files that were looked for, there or not.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let folders = self.by_folder.lock().unwrap_or_else(|e| e.into_inner());
        folders.keys().flat_map(|folder| FILES.iter().map(|name| folder.join(name))).collect()
    }

    fn known(&self, folder: &Path) -> Option<Arc<Project>> {
        self.by_folder.lock().unwrap_or_else(|e| e.into_inner()).get(folder).cloned()
    }

    fn is_root(&self, folder: &Path) -> bool {
        folder.join(".git").exists() || FILES.iter().any(|name| folder.join(name).is_file())
    }

    fn read(&self, root: &Path) -> Project {
        let mut project = Project { root: root.to_path_buf(), ..Project::default() };
        for name in FILES {
            let path = root.join(name);
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            project.versions.add(name, &text);
            if *name == "pyproject.toml" {
                project.config = self.config(&path, &text);
            }
        }
        // A sub-folder with only requirements takes its settings from further up.
        if !root.join("pyproject.toml").is_file()
            && let Some(parent) = root.parent()
        {
            let outer = self.of(parent);
            project.config = outer.config.clone();
            project.versions.fill_from(&outer.versions);
        }
        project
    }

    fn config(&self, path: &Path, text: &str) -> Config {
        Config::from_pyproject(path.parent().unwrap_or(path), text).unwrap_or_else(|message| {
            let problem = Problem { path: path.into(), kind: ProblemKind::Malformed, message, span: None };
            self.problems.lock().unwrap_or_else(|e| e.into_inner()).push(problem);
            Config::default()
        })
    }
}
