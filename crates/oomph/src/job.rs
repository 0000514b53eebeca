//! What the user asked to run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::python::{self, Subject};

#[derive(Debug, PartialEq)]
pub enum Job {
    Script { path: PathBuf, args: Vec<OsString> },
    Module { name: String, args: Vec<OsString> },
    Launcher { command: OsString, args: Vec<OsString> },
}

impl Job {
    /// `argv` is the whole command line: only there can `-- CMD` be told from `SCRIPT`.
    pub fn new(command: &[OsString], module: bool, argv: &[OsString]) -> Result<Job, Error> {
        let (first, rest) = command.split_first().expect("clap requires a script");
        let args = rest.to_vec();
        if module {
            return Ok(Job::Module { name: first.to_string_lossy().into_owned(), args });
        }
        // The script and its arguments are the end of the line, so what introduced them is before.
        let before = argv.len().checked_sub(command.len() + 1).and_then(|index| argv.get(index));
        if before.is_some_and(|word| word == "--") {
            return Ok(Job::Launcher { command: first.clone(), args });
        }
        if first.as_encoded_bytes().starts_with(b"-") {
            return Err(Error::UnknownOption(first.to_string_lossy().into_owned()));
        }
        Ok(Job::Script { path: first.into(), args })
    }

    pub fn subject(&self) -> Subject<'_> {
        match self {
            Job::Script { path, .. } => Subject::Script(path),
            Job::Module { name, .. } => Subject::Module(name),
            Job::Launcher { .. } => Subject::Nothing,
        }
    }

    /// The Python this job will run in, as far as can be known beforehand.
    pub fn python(&self, named: Option<&Path>) -> Result<PathBuf, Error> {
        if let (Job::Launcher { command, .. }, None) = (self, named)
            && let Some(python) = program(command, None).as_deref().and_then(interpreter)
        {
            return Ok(python);
        }
        python::find(named)
    }

    /// The program to start and its arguments. `named` is the Python the user chose, whose
    /// environment's launchers come first, as if it had been activated.
    pub fn command_line(&self, python: &Path, named: Option<&Path>) -> Result<Vec<OsString>, Error> {
        let (mut line, args) = match self {
            Job::Script { path, args } => (vec![python.into(), path.into()], args),
            Job::Module { name, args } => (vec![python.into(), "-m".into(), name.into()], args),
            Job::Launcher { command, args } => {
                let found = program(command, named);
                let missing = || Error::NoCommand(command.to_string_lossy().into_owned());
                (vec![found.ok_or_else(missing)?.into()], args)
            }
        };
        line.extend(args.iter().cloned());
        Ok(line)
    }
}

fn program(command: &OsStr, named: Option<&Path>) -> Option<PathBuf> {
    let path = Path::new(command);
    if path.components().count() > 1 {
        return python::is_executable(path).then(|| path.to_owned());
    }
    let beside = named.and_then(Path::parent).map(|folder| folder.join(command));
    beside.filter(|file| python::is_executable(file)).or_else(|| python::on_path(command))
}

/// The Python behind a program: itself if it is one, else the one in its first line (`#!`).
fn interpreter(program: &Path) -> Option<PathBuf> {
    if is_python(program) {
        return Some(program.to_owned());
    }
    let head = read_head(program)?;
    let line = head.strip_prefix("#!")?.lines().next()?;
    let interpreter = PathBuf::from(line.split_whitespace().next()?);
    is_python(&interpreter).then_some(interpreter)
}

fn is_python(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"))
}

fn read_head(program: &Path) -> Option<String> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(program).ok()?.take(512).read_to_end(&mut head).ok()?;
    Some(String::from_utf8_lossy(&head).into_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    fn job(line: &str) -> Result<Job, Error> {
        let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match Args::try_parse_from(&argv).unwrap().command {
            Command::Try(options) => Job::new(&options.command, options.module, &argv),
            other => panic!("{other:?}"),
        }
    }

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn everything_after_the_script_is_the_scripts() {
        let expected = Job::Script { path: "train.py".into(), args: words("--json --gpu x -h -- -m a") };
        assert_eq!(job("oomph try --gpu h100 train.py --json --gpu x -h -- -m a").unwrap(), expected);
    }

    #[test]
    fn a_module_and_its_arguments() {
        let expected = Job::Module { name: "pkg.train".into(), args: words("-m --steps 3") };
        assert_eq!(job("oomph try -m pkg.train -m --steps 3").unwrap(), expected);
    }

    #[test]
    fn a_launcher_comes_after_two_dashes() {
        let expected = Job::Launcher { command: "torchrun".into(), args: words("--nproc-per-node 2 -- train.py") };
        assert_eq!(job("oomph try --json -- torchrun --nproc-per-node 2 -- train.py").unwrap(), expected);
    }

    #[test]
    fn a_misspelt_option_is_not_a_script() {
        assert!(matches!(job("oomph try --gpuu h100 train.py"), Err(Error::UnknownOption(_))));
    }
}
