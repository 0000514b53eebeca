//! What is done with the answer: printed, shown as a patch, written into the files, or given as a framework's settings.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use report::planned;

use super::{Answer, from_here};
use crate::args::PlanArgs;
use crate::error::Error;
use crate::output;

/// Refused before minutes are spent: what could not be written afterwards.
pub fn check_before(options: &PlanArgs, script: &Path) -> Result<(), Error> {
    if options.apply && !options.force {
        refuse_dirty(script)?;
    }
    if options.apply && !options.yes && !io::stdin().is_terminal() {
        return Err(Error::NobodyToAsk);
    }
    Ok(())
}

pub fn show(options: &PlanArgs, answer: &Answer) -> Result<(), Error> {
    let number = options.plan.unwrap_or(1) as usize;
    if options.diff || options.apply || options.config {
        if answer.planned.as_is.fits {
            output::note("it fits as it is: there is nothing to change");
            return Ok(());
        }
        if number > answer.planned.plans.len() {
            return Err(Error::NoSuchPlan { asked: number, there: answer.planned.plans.len() });
        }
    }
    if options.diff {
        return diff(answer, number - 1);
    }
    if options.config {
        let config = remedies::config(&answer.choices[number - 1], answer.script.framework);
        output::answer(&config.text());
        return Ok(());
    }
    let text = if options.json { planned::json(&answer.planned) } else { planned::text(&answer.planned) };
    output::answer(&text);
    if options.apply {
        return write(options, answer, number - 1);
    }
    Ok(())
}

/// The patch to stdout, so that it can be piped into `git apply`; what is not in it to stderr.
fn diff(answer: &Answer, index: usize) -> Result<(), Error> {
    let plan = &answer.planned.plans[index];
    let Some(diff) = &plan.diff else {
        return Err(Error::NotWritten { why: plan.notes.join("; ") });
    };
    output::answer(diff);
    for (name, value) in &plan.environment {
        output::note(&format!("also set {name}={value}"));
    }
    if let Some(command) = &plan.command {
        output::note(&format!("run it as: {command}"));
    }
    for note in &plan.notes {
        output::note(note);
    }
    Ok(())
}

fn write(options: &PlanArgs, answer: &Answer, index: usize) -> Result<(), Error> {
    let plan = &answer.planned.plans[index];
    let Some(patch) = &answer.patches[index] else {
        return Err(Error::NotWritten { why: plan.notes.join("; ") });
    };
    if patch.files.is_empty() {
        output::note("no file has to change for this plan: see `run` and `set` above");
        return Ok(());
    }
    for (path, old, _) in &patch.files {
        if !options.force {
            refuse_dirty(path)?;
        }
        let now = fs::read_to_string(path).map_err(|source| Error::Io { doing: "read", path: path.clone(), source })?;
        if now != *old {
            return Err(Error::ChangedMeanwhile(path.clone()));
        }
    }
    if !options.yes && !agreed(index, patch.files.len())? {
        output::note("nothing was written");
        return Ok(());
    }
    for (path, _, new) in &patch.files {
        let backup = backup(path)?;
        replace(path, new)?;
        output::note(&format!(
            "wrote {}; the old text is in {}",
            from_here(path).display(),
            from_here(&backup).display()
        ));
    }
    Ok(())
}

fn agreed(index: usize, files: usize) -> Result<bool, Error> {
    let what = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let _ = write!(io::stderr().lock(), "Write plan {} into {what}? [y/N] ", index + 1);
    let _ = io::stderr().lock().flush();
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|_| Error::NobodyToAsk)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// `train.py.orig`, or with a number where that is taken: no backup is ever overwritten.
fn backup(path: &Path) -> Result<PathBuf, Error> {
    let name = |number: u32| {
        let end = if number == 0 { ".orig".to_owned() } else { format!(".orig{number}") };
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let free = (0..).map(name).find(|backup| !backup.exists()).expect("there are numbers left");
    fs::copy(path, &free).map_err(|source| Error::Io { doing: "copy", path: path.to_owned(), source })?;
    Ok(free)
}

/// Beside it first, then renamed: a full disk leaves the old file whole.
fn replace(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |source| Error::Io { doing: "write", path: path.to_owned(), source };
    let target = fs::canonicalize(path).map_err(failed)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let permissions = fs::metadata(&target).map_err(failed)?.permissions();
    file.as_file().set_permissions(permissions).map_err(failed)?;
    file.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A file with changes that git has not got could not be had back as it was.
fn refuse_dirty(path: &Path) -> Result<(), Error> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let output = Command::new("git").arg("-C").arg(folder).args(["status", "--porcelain", "--"]).arg(path).output();
    // No git, or no repository: the backup is all there is, and is made.
    let Ok(output) = output else { return Ok(()) };
    if output.status.success() && !output.stdout.is_empty() && !output.stdout.starts_with(b"??") {
        return Err(Error::Dirty(path.to_owned()));
    }
    Ok(())
}
