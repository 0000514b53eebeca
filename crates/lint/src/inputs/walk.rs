//! Finding the files to check: `.gitignore` respected, links not followed in circles, what cannot be read reported.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ignore::{WalkBuilder, WalkState};

use super::read::Input;
use crate::config::Options;
use crate::finding::{Problem, ProblemKind};
use crate::project::Projects;

/// A file to check.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub path: PathBuf,
    /// Named by the user, not found in a folder: it is read whatever it is called or mentions.
    pub named: bool,
}

/// Folders that hold other people's code.
const FOREIGN: &[&str] = &[
    ".git",
    ".venv",
    "venv",
    "node_modules",
    "__pycache__",
    "site-packages",
    ".tox",
    ".nox",
    ".ipynb_checkpoints",
    ".eggs",
];

/// The files below these paths, sorted.
pub fn find(paths: &[PathBuf], options: &Options, projects: &Projects) -> (Vec<Target>, Vec<Problem>) {
    let mut targets = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        match std::fs::metadata(path) {
            Err(error) => problems.push(unreadable(path, &error.to_string())),
            Ok(meta) if meta.is_dir() => walk(path, options, projects, &mut targets, &mut problems),
            Ok(_) if path.extension().is_some_and(|end| end == "pyi") => {}
            Ok(_) => targets.push(Target { path: path.clone(), named: true }),
        }
    }
    targets.sort();
    targets.dedup_by(|a, b| a.path == b.path);
    (targets, problems)
}

fn walk(root: &Path, options: &Options, projects: &Projects, targets: &mut Vec<Target>, problems: &mut Vec<Problem>) {
    let found = Mutex::new((Vec::new(), Vec::new()));
    let inside_foreign = root.components().any(|part| FOREIGN.iter().any(|name| part.as_os_str() == *name));
    let mut builder = WalkBuilder::new(root);
    builder.hidden(false).follow_links(true).require_git(false).standard_filters(!options.no_gitignore).hidden(false);
    builder.threads(if options.threads == 0 { rayon::current_num_threads() } else { options.threads });
    builder.filter_entry(move |entry| {
        let foreign = entry.file_name().to_str().is_some_and(|name| FOREIGN.contains(&name));
        entry.depth() == 0 || inside_foreign || !foreign
    });
    builder.build_parallel().run(|| {
        Box::new(|entry| {
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|t| t.is_file()) => {
                    if Input::of(entry.path()).is_some() && !is_excluded(entry.path(), options, projects) {
                        let target = Target { path: entry.into_path(), named: false };
                        found.lock().unwrap_or_else(|e| e.into_inner()).0.push(target);
                    }
                }
                Ok(_) => {}
                // A link that leads back to a folder above it: what is there is read once, by its own path.
                Err(error) if is_loop(&error) => {}
                Err(error) => found.lock().unwrap_or_else(|e| e.into_inner()).1.push(walk_problem(root, &error)),
            }
            WalkState::Continue
        })
    });
    let (mut files, mut errors) = found.into_inner().unwrap_or_else(|e| e.into_inner());
    targets.append(&mut files);
    problems.append(&mut errors);
}

fn is_excluded(path: &Path, options: &Options, projects: &Projects) -> bool {
    let path = options.absolute(path);
    if options.config.excludes(&path) {
        return true;
    }
    let folder = path.parent().unwrap_or(&path);
    !options.isolated && projects.of(folder).config.excludes(&path)
}

fn is_loop(error: &ignore::Error) -> bool {
    match error {
        ignore::Error::Loop { .. } => true,
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithPath { err, .. } => is_loop(err),
        _ => false,
    }
}

fn walk_problem(root: &Path, error: &ignore::Error) -> Problem {
    let path = match error {
        ignore::Error::WithPath { path, .. } => path.clone(),
        ignore::Error::WithDepth { err, .. } => match &**err {
            ignore::Error::WithPath { path, .. } => path.clone(),
            _ => root.to_path_buf(),
        },
        _ => root.to_path_buf(),
    };
    let message = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
    unreadable(&path, &message)
}

fn unreadable(path: &Path, message: &str) -> Problem {
    let message = message.split(" (os error").next().unwrap_or(message).to_lowercase();
    Problem { path: path.into(), kind: ProblemKind::Unreadable, message, span: None }
}
