//! Checking again and again: only files that changed since the last time are read.
//!
//! Files are told apart by when they were last written, their size and their inode, which are asked for each time. That also works
//! where the system does not announce changes: network drives, containers, and editors that put a new file in the old one's place.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::check::Checked;
use crate::config::Options;
use crate::error::Error;
use crate::finding::Report;
use crate::inputs::walk::{self, Target};
use crate::paths;
use crate::project::Projects;

/// Files and folders under watch.
pub struct Watch {
    paths: Vec<PathBuf>,
    options: Options,
    pool: rayon::ThreadPool,
    files: FxHashMap<PathBuf, Known>,
    /// The files that projects are read from, there or not.
    project_files: FxHashMap<PathBuf, Option<Stamp>>,
    was_here: bool,
}

struct Known {
    stamp: Option<Stamp>,
    checked: Checked,
}

/// What a changed file has other than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    written: Option<SystemTime>,
    size: u64,
    inode: u64,
}

/// What is found now, and what changed since the last time.
pub struct Seen {
    pub report: Report,
    /// Changed, new and deleted files; all of them the first time.
    pub changed: BTreeSet<PathBuf>,
}

impl Watch {
    pub fn new(paths: Vec<PathBuf>, options: Options) -> Result<Watch, Error> {
        let pool = paths::pool(&options)?;
        let (files, project_files) = (FxHashMap::default(), FxHashMap::default());
        Ok(Watch { paths, options, pool, files, project_files, was_here: false })
    }

    /// Checks what changed since the last time. Nothing when nothing did.
    pub fn look(&mut self) -> Option<Seen> {
        let projects = Projects::default();
        let (targets, problems) = self.pool.install(|| walk::find(&self.paths, &self.options, &projects));
        let mut changed = self.forget_all_if_projects_changed();
        let is_same_project = changed.is_empty();
        let stamps: FxHashMap<&Path, Option<Stamp>> = targets.iter().map(|t| (&*t.path, stamp(&t.path))).collect();
        changed.extend(self.forget_changed(&stamps));
        let unread: Vec<&Target> = targets.iter().filter(|target| !self.files.contains_key(&target.path)).collect();
        if self.was_here && changed.is_empty() && unread.is_empty() {
            return None;
        }
        if is_same_project {
            changed.extend(unread.iter().map(|target| target.path.clone()));
        }
        self.read(&unread, &stamps, &projects);
        self.project_files = projects.files().into_iter().map(|path| (path.clone(), stamp(&path))).collect();
        self.was_here = true;
        let mut report = Report { findings: Vec::new(), problems, files: targets.len() };
        report.problems.extend(projects.problems());
        self.files.values().for_each(|known| report.add(known.checked.clone()));
        report.sort();
        Some(Seen { report, changed })
    }

    /// Settings and versions matter to every file. Gives the project files that changed.
    fn forget_all_if_projects_changed(&mut self) -> BTreeSet<PathBuf> {
        let changed = self.project_files.iter().filter(|(path, was)| stamp(path) != **was);
        let changed: BTreeSet<PathBuf> = changed.map(|(path, _)| self.options.relative(path)).collect();
        if !changed.is_empty() {
            self.files.clear();
        }
        changed
    }

    /// Gives the files that are not what they were, or not there any more.
    fn forget_changed(&mut self, stamps: &FxHashMap<&Path, Option<Stamp>>) -> Vec<PathBuf> {
        let same = |path: &Path, known: &Known| stamps.get(path) == Some(&known.stamp);
        self.files.extract_if(|path, known| !same(path, known)).map(|(path, _)| path).collect()
    }

    fn read(&mut self, unread: &[&Target], stamps: &FxHashMap<&Path, Option<Stamp>>, projects: &Projects) {
        let check = |target: &&Target| paths::check_one(target, &self.options, projects);
        let checked: Vec<Checked> = self.pool.install(|| unread.par_iter().map(check).collect());
        for (target, checked) in unread.iter().zip(checked) {
            let stamp = stamps.get(&*target.path).copied().flatten();
            self.files.insert(target.path.clone(), Known { stamp, checked });
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = std::fs::metadata(path).ok()?;
    Some(Stamp { written: meta.modified().ok(), size: meta.len(), inode: meta.ino() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: &str = "import torch\n\nstate = torch.load('a.pt')\nmodel = torch.nn.Linear(2, 2).cuda()\n";

    fn watch(folder: &Path) -> Watch {
        let mut options = Options { folder: folder.to_path_buf(), ..Options::default() };
        options.config.select = Some(vec!["O05".to_owned(), "E04".to_owned()]);
        Watch::new(vec![folder.to_path_buf()], options).unwrap()
    }

    fn names(seen: &Seen) -> Vec<String> {
        seen.changed.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn only_changes_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        std::fs::write(file("a.py"), "import torch\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\n").unwrap();
        std::fs::write(file("b.py"), LOAD).unwrap();
        let mut watch = watch(folder.path());
        let seen = watch.look().unwrap();
        assert_eq!((names(&seen).len(), seen.report.findings.len(), seen.report.files), (2, 1, 2));
        assert!(watch.look().is_none());

        std::fs::write(file("c.py"), "def f(:\n").unwrap();
        let seen = watch.look().unwrap();
        assert_eq!((names(&seen), seen.report.findings.len(), seen.report.problems.len()), (vec!["c.py".into()], 1, 1));

        std::fs::remove_file(file("c.py")).unwrap();
        std::fs::write(file("a.py"), "import torch\nmodel = torch.nn.Linear(2, 2)\nmodel.eval()\n").unwrap();
        let seen = watch.look().unwrap();
        assert_eq!(names(&seen), ["a.py", "c.py"]);
        assert_eq!((seen.report.findings.len(), seen.report.problems.len(), seen.report.files), (0, 0, 2));
        assert!(watch.look().is_none());
    }

    #[test]
    fn new_settings_are_for_all_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        std::fs::write(file("a.py"), "import torch\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\n").unwrap();
        let mut watch = watch(folder.path());
        assert_eq!(watch.look().unwrap().report.findings.len(), 1);
        std::fs::write(file("pyproject.toml"), "[tool.oomph.per-file-ignores]\n'a.py' = ['E04']\n").unwrap();
        let seen = watch.look().unwrap();
        assert_eq!((names(&seen), seen.report.findings.len()), (vec!["pyproject.toml".into()], 0));
        assert!(watch.look().is_none());
    }

    #[test]
    fn a_file_that_appears_later_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("later.py");
        let options = Options { folder: folder.path().to_path_buf(), ..Options::default() };
        let mut watch = Watch::new(vec![path.clone()], options).unwrap();
        assert_eq!(watch.look().unwrap().report.problems.len(), 1);
        assert!(watch.look().is_none());
        std::fs::write(&path, "x = 1\n").unwrap();
        assert!(watch.look().unwrap().report.problems.is_empty());
    }
}
