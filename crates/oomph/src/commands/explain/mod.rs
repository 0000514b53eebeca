//! `oomph explain`: why a run died, from what it left behind.

mod evidence;
mod files;
mod range;
mod read;

use std::path::Path;

use explain::{Ran, beside};
use report::explained::{self, About, Explained};
use units::Bytes;

pub use self::range::Bound;

use self::evidence::Asked;
use self::range::Range;
use crate::args::ExplainArgs;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::output;
use crate::whatif::Wish;

pub fn run(options: &ExplainArgs) -> ExitStatus {
    match answer(options) {
        Ok(status) => status,
        Err(error) => refuse(&error, options.json),
    }
}

fn answer(options: &ExplainArgs) -> Result<ExitStatus, Error> {
    let directory = std::env::current_dir().ok().map(|path| path.display().to_string());
    let asked = Asked {
        device: options.device,
        range: Some(Range { from: options.from, to: options.to }).filter(|range| *range != Range::default()),
        what_if: wish(options)?,
        directory: directory.clone(),
    };
    let sources = files::sources(&options.files)?;
    let runs = read::runs(&sources, &asked)?;
    let died = runs.iter().any(|run| run.explanation.oom.is_some());
    let text = match runs.as_slice() {
        [run] => one(run, options),
        several => compared(several, options, directory),
    };
    match &options.html {
        Some(path) if path != Path::new("-") => write_page(path, &text)?,
        _ => output::answer(&text),
    }
    Ok(if died { ExitStatus::DoesNotFit } else { ExitStatus::Fits })
}

/// Nothing is replayed unless something should have been different.
fn wish(options: &ExplainArgs) -> Result<Option<Wish>, Error> {
    let memory = options.memory.as_deref().map(str::parse::<Bytes>).transpose().map_err(Error::BadMemory)?;
    if options.alloc_conf.is_none() && memory.is_none() {
        return Ok(None);
    }
    Ok(Some(Wish { python: options.python.clone(), alloc_conf: options.alloc_conf.clone(), memory }))
}

fn one(run: &Explained, options: &ExplainArgs) -> String {
    match () {
        () if options.json => explained::json(run),
        () if options.html.is_some() => explained::html(run),
        () if options.markdown => explained::markdown(run),
        () => explained::text(run, options.full),
    }
}

fn compared(runs: &[Explained], options: &ExplainArgs, directory: Option<String>) -> String {
    let about = About { directory, ..About::default() };
    let compared = beside(runs.iter().zip(short_names(runs)).map(ran).collect());
    match () {
        () if options.json => explained::compared_json(&compared, &about),
        () if options.html.is_some() => explained::compared_html(&compared, &about, runs),
        () if options.markdown => explained::compared_markdown(&compared, &about),
        () => explained::compared_text(&compared, &about, options.full),
    }
}

fn ran((run, name): (&Explained, String)) -> Ran {
    let died_us = run.explanation.oom.as_ref().and_then(|oom| oom.time_us);
    Ran { name, explanation: run.explanation.clone(), died_us }
}

/// The files' names without the folder that they have in common.
fn short_names(runs: &[Explained]) -> Vec<String> {
    let names: Vec<&str> = runs.iter().filter_map(|run| run.about.files.first()).map(String::as_str).collect();
    let folder = |name: &str| name.rfind('/').map_or(0, |at| at + 1);
    let first = names.first().map_or("", |name| &name[..folder(name)]);
    let mut common = first;
    while !names.iter().all(|name| name.starts_with(common)) {
        common = &common[..folder(common.trim_end_matches('/'))];
    }
    names.iter().map(|name| name[common.len()..].to_owned()).collect()
}

/// The page appears whole or not at all.
fn write_page(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |source| Error::Io { doing: "write", path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    std::fs::write(file.path(), text).map_err(failed)?;
    readable(file.path()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    output::answer(&format!("Wrote {}\n", path.display()));
    Ok(())
}

/// A temporary file is its owner's alone; a page is to be shown around.
fn readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
}

/// A program that asked for JSON gets JSON, whatever happened.
fn refuse(error: &Error, json: bool) -> ExitStatus {
    output::complain(error);
    if json {
        output::answer(&explained::refusal_json(&output::in_one_line(error), error.hint().as_deref()));
    }
    ExitStatus::CouldNotTell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(names: &[&str]) -> Vec<String> {
        let explained = |name: &&str| {
            let explanation = explain::explain(&explain::Evidence::default());
            let about = About { files: vec![name.to_string()], ..About::default() };
            Explained { explanation, about, curve: None, what_if: None, mistakes: report::Mistakes::default() }
        };
        short_names(&names.iter().map(explained).collect::<Vec<_>>())
    }

    #[test]
    fn names_lose_what_they_have_in_common() {
        assert_eq!(shortened(&["/a/b/x.pickle", "/a/b/y.pickle"]), ["x.pickle", "y.pickle"]);
        assert_eq!(shortened(&["/a/b/x.pickle", "/a/c/x.pickle"]), ["b/x.pickle", "c/x.pickle"]);
        assert_eq!(shortened(&["x.pickle", "/a/x.pickle"]), ["x.pickle", "/a/x.pickle"]);
    }
}
