//! Checking and fixing whole projects, in parallel.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;
use rayon::prelude::*;

use crate::check::{self, Checked};
use crate::config::{self, Options, Selection};
use crate::error::Error;
use crate::finding::{Problem, ProblemKind, Report};
use crate::fix::apply::{Apply, Fixed, fix};
use crate::inputs::read::{self, Input};
use crate::inputs::walk::{self, Target};
use crate::project::{Project, Projects};
use crate::source::{Shape, Source};

/// A fixed file: what was there, what it becomes.
pub struct FixedFile {
    pub path: PathBuf,
    pub before: String,
    pub after: String,
    pub applied: Vec<crate::finding::Finding>,
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
    let (results, mut report) = over_files(paths, options, |source, project, selection| {
        (Vec::new(), check::check(&source, project, selection))
    })?;
    for (_, checked) in results {
        report.findings.extend(checked.findings);
        report.problems.extend(checked.problems);
    }
    report.sort();
    Ok(report)
}

/// Checks files and folders and works out what fixing them would give.
pub fn fix_paths(paths: &[PathBuf], options: &Options, apply: Apply) -> Result<FixReport, Error> {
    let (results, mut report) = over_files(paths, options, |source, project, selection| {
        let problems = check::check(&source, project, selection).problems;
        let before = source.raw().to_owned();
        let fixed = fix(source, project, selection, apply);
        let problems = problems.into_iter().chain(fixed.refused.iter().map(refused)).collect();
        let findings = fixed.remaining.clone();
        (file(before, fixed).into_iter().collect(), Checked { findings, problems })
    })?;
    let mut files = Vec::new();
    for (fixed, checked) in results {
        files.extend(fixed);
        report.findings.extend(checked.findings);
        report.problems.extend(checked.problems);
    }
    report.sort();
    files.sort_by(|a: &FixedFile, b| a.path.cmp(&b.path));
    Ok(FixReport { report, files })
}

fn file(before: String, fixed: Fixed) -> Option<FixedFile> {
    let path = fixed.source.path().to_path_buf();
    let after = fixed.source.raw().to_owned();
    (before != after).then_some(FixedFile { path, before, after, applied: fixed.applied })
}

fn refused(finding: &crate::finding::Finding) -> Problem {
    let message = format!("{}: the fix would break the file and was left out", finding.code);
    Problem { path: Arc::clone(&finding.path), kind: ProblemKind::FixRefused, message, span: Some(finding.span) }
}

type Outcome = (Vec<FixedFile>, Checked);

/// Runs something over every file that is worth it, on all cores.
fn over_files(
    paths: &[PathBuf],
    options: &Options,
    each: impl Fn(Source, &Project, &Selection) -> Outcome + Sync,
) -> Result<(Vec<Outcome>, Report), Error> {
    for selectors in
        [options.config.select.as_deref().unwrap_or(&[]), &options.config.ignore, &options.config.extend_select]
    {
        config::known(selectors)?;
    }
    let projects = Projects::default();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .stack_size(64 << 20)
        .build()
        .map_err(|e| Error::Threads(e.to_string()))?;
    let (targets, problems) = pool.install(|| walk::find(paths, options, &projects));
    let files = targets.len();
    let results = pool.install(|| {
        targets.par_iter().filter_map(|target| one_file(target, options, &projects, &each)).collect::<Vec<Outcome>>()
    });
    let mut report = Report { findings: Vec::new(), problems, files };
    report.problems.extend(projects.problems());
    Ok((results, report))
}

fn one_file(
    target: &Target,
    options: &Options,
    projects: &Projects,
    each: &(impl Fn(Source, &Project, &Selection) -> Outcome + Sync),
) -> Option<Outcome> {
    let input = Input::of(&target.path).unwrap_or(Input::Script);
    let source = match read::read(&target.path, input, options.largest) {
        Ok(source) => source,
        Err(problem) => return Some((Vec::new(), Checked { findings: Vec::new(), problems: vec![problem] })),
    };
    if !target.named && !is_worth_it(&source) {
        return None;
    }
    let path = options.absolute(&target.path);
    let project = match options.isolated {
        true => Arc::default(),
        false => projects.of(path.parent().unwrap_or(&path)),
    };
    let selection = Selection::of(&project.config, &options.config, &path);
    Some(each(source, &project, &selection))
}

/// Whether a file can have anything to do with training: a search for a few words, before anything is parsed.
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
