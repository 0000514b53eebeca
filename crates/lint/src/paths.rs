//! Checking and fixing whole projects, in parallel.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;
use rayon::prelude::*;

use crate::check::{self, Checked};
use crate::config::{self, Options, Selection};
use crate::error::Error;
use crate::finding::{Finding, Problem, ProblemKind, Report};
use crate::fix::apply::{Apply, Fixed, fix};
use crate::inputs::read;
use crate::inputs::walk::{self, Target};
use crate::project::{Project, Projects};
use crate::source::{Shape, Source};

/// A fixed file: what was there, what it becomes.
pub struct FixedFile {
    pub path: PathBuf,
    pub before: String,
    pub after: String,
    pub applied: Vec<Finding>,
}

/// A run over many files with fixes. Nothing is written: [`FixedFile::after`] is what to write.
#[derive(Default)]
pub struct FixReport {
    /// What remains.
    pub report: Report,
    pub files: Vec<FixedFile>,
}

/// Checks files and folders.
pub fn check_paths(paths: &[PathBuf], options: &Options) -> Result<Report, Error> {
    let (checked, mut report) = over_files(paths, options, check_one)?;
    checked.into_iter().for_each(|checked| report.add(checked));
    report.sort();
    Ok(report)
}

/// Checks files and folders and works out what fixing them would give.
pub fn fix_paths(paths: &[PathBuf], options: &Options, apply: Apply) -> Result<FixReport, Error> {
    let (fixed, mut report) =
        over_files(paths, options, |target, options, projects| fix_one(target, options, projects, apply))?;
    let mut files = Vec::new();
    for (file, remaining) in fixed {
        files.extend(file);
        report.add(remaining);
    }
    report.sort();
    files.sort_by(|a: &FixedFile, b| a.path.cmp(&b.path));
    Ok(FixReport { report, files })
}

/// Runs something over every file, on all cores.
fn over_files<T: Send>(
    paths: &[PathBuf],
    options: &Options,
    each: impl Fn(&Target, &Options, &Projects) -> T + Sync,
) -> Result<(Vec<T>, Report), Error> {
    let pool = pool(options)?;
    let projects = Projects::default();
    let (targets, problems) = pool.install(|| walk::find(paths, options, &projects));
    let results = pool.install(|| targets.par_iter().map(|target| each(target, options, &projects)).collect());
    let mut report = Report { findings: Vec::new(), problems, files: targets.len() };
    report.problems.extend(projects.problems());
    Ok((results, report))
}

/// The threads of a run, once its options are known to make sense.
pub(crate) fn pool(options: &Options) -> Result<rayon::ThreadPool, Error> {
    let select = options.config.select.as_deref().unwrap_or(&[]);
    for selectors in [select, &options.config.ignore, &options.config.extend_select] {
        config::known(selectors)?;
    }
    let builder = rayon::ThreadPoolBuilder::new().num_threads(options.threads).stack_size(64 << 20);
    builder.build().map_err(|e| Error::Threads(e.to_string()))
}

pub(crate) fn check_one(target: &Target, options: &Options, projects: &Projects) -> Checked {
    match Opened::of(target, options, projects) {
        Err(problem) => Checked { findings: Vec::new(), problems: vec![problem] },
        Ok(file) if !file.is_training => check::check_syntax(&file.source),
        Ok(file) => check::check(&file.source, &file.project, &file.selection),
    }
}

/// The file if it changes, and what remains to be found in it.
fn fix_one(target: &Target, options: &Options, projects: &Projects, apply: Apply) -> (Option<FixedFile>, Checked) {
    let opened = match Opened::of(target, options, projects) {
        Err(problem) => return (None, Checked { findings: Vec::new(), problems: vec![problem] }),
        Ok(file) if !file.is_training => return (None, check::check_syntax(&file.source)),
        Ok(file) => file,
    };
    let before = opened.source.raw().to_owned();
    let fixed = fix(opened.source, &opened.project, &opened.selection, apply);
    let refused = fixed.refused.iter().map(refused);
    let problems = fixed.problems.iter().cloned().chain(refused).collect();
    let findings = fixed.remaining.clone();
    (file(before, fixed), Checked { findings, problems })
}

fn file(before: String, fixed: Fixed) -> Option<FixedFile> {
    let path = fixed.source.path().to_path_buf();
    let after = fixed.source.raw().to_owned();
    (before != after).then_some(FixedFile { path, before, after, applied: fixed.applied })
}

fn refused(finding: &Finding) -> Problem {
    let message = format!("{}: the fix would break the file and was left out", finding.code);
    Problem { path: Arc::clone(&finding.path), kind: ProblemKind::FixRefused, message, span: Some(finding.span) }
}

/// A file that was read, and what it is checked with.
struct Opened {
    source: Source,
    project: Arc<Project>,
    selection: Selection,
    /// Named by the user, or it mentions something that a rule could be about.
    is_training: bool,
}

impl Opened {
    fn of(target: &Target, options: &Options, projects: &Projects) -> Result<Opened, Problem> {
        let source = read::read(&target.path, options.largest)?;
        let path = options.absolute(&target.path);
        let project = match options.isolated {
            true => Arc::default(),
            false => projects.of(path.parent().unwrap_or(&path)),
        };
        let selection = Selection::of(&project.config, &options.config, &path);
        let is_training = target.named || is_worth_it(&source);
        Ok(Opened { source, project, selection, is_training })
    }
}

/// Whether a file can have anything to do with training: a search for a few words. Others are only parsed.
fn is_worth_it(source: &Source) -> bool {
    static WORDS: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let words = WORDS.get_or_init(|| AhoCorasick::new(HINTS).ok());
    matches!(source.shape(), Shape::Lines(_)) || words.as_ref().is_none_or(|w| w.is_match(source.text()))
}

const HINTS: &[&str] = &[
    "torch",
    "transformers",
    "ightning",
    "accelerate",
    "diffusers",
    "deepspeed",
    "ALLOC_CONF",
    "CUDA",
    "cuda",
    "model(",
    "model.",
    "loss",
    "optimizer",
    "loader",
    "Dataset",
    "tokenizer",
    "gc.collect",
    "batch",
    "TrainingArguments",
    "BitsAndBytesConfig",
    ".backward",
    "mha(",
];
