//! The user's Python: which one, and what it has.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::error::Error;
use crate::last_words::last_line;

const QUESTION: &str = include_str!("question.py");

/// The oldest torch whose libraries the ghost knows.
const OLDEST_TORCH: (u64, u64) = (2, 6);

/// What a Python said about itself.
#[derive(Debug, Deserialize)]
pub struct Python {
    pub executable: PathBuf,
    pub version: String,
    pub torch: Option<Torch>,
    problem: Option<Problem>,
}

/// What is known of an installed torch without importing it.
#[derive(Debug, Deserialize)]
pub struct Torch {
    pub folder: PathBuf,
    version: Option<String>,
    pub cuda: Option<String>,
    hip: Option<String>,
    /// Distribution names and versions in the same site-packages.
    #[serde(default)]
    packages: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Problem {
    Missing,
    Syntax { message: String, line: u64, code: Option<String> },
}

/// What the user wants to run with it.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    Script(&'a Path),
    Module(&'a str),
    /// A launcher brings its own idea of a script.
    Nothing,
}

/// The Python to use: the one named, the active virtual environment's, or the first on PATH.
pub fn find(named: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(path) = named {
        let found = if path.components().count() > 1 { Some(path.to_owned()) } else { on_path(path.as_os_str()) };
        return Ok(found.unwrap_or_else(|| path.to_owned()));
    }
    let active = std::env::var_os("VIRTUAL_ENV").map(|env| Path::new(&env).join("bin/python"));
    active
        .filter(|python| python.exists())
        .or_else(|| on_path("python3".as_ref()))
        .or_else(|| on_path("python".as_ref()))
        .ok_or(Error::NoPython)
}

/// The first file of this name on PATH that may be executed.
pub fn on_path(name: &OsStr) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

pub fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Asks one cheap question: versions, and whether the subject is there and can be compiled.
pub fn ask(path: &Path, subject: Subject) -> Result<Python, Error> {
    let (kind, name) = match subject {
        Subject::Script(script) => ("script", script.as_os_str()),
        Subject::Module(module) => ("module", OsStr::new(module)),
        Subject::Nothing => ("nothing", OsStr::new("")),
    };
    let output = Command::new(path)
        .args(["-c", QUESTION, kind])
        .arg(name)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::CannotRun { path: path.to_owned(), source })?;
    // Start-up files of the environment may print too; the answer is the last line.
    let answer = String::from_utf8_lossy(&output.stdout);
    let answer = answer.lines().last().and_then(|line| serde_json::from_str(line).ok());
    answer.ok_or_else(|| Error::NotPython { path: path.to_owned(), said: last_words(&output) })
}

fn last_words(output: &std::process::Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    last_line(&stderr).map_or_else(|| format!("it ended with {}", output.status), str::to_owned)
}

impl Python {
    /// Refuses what a try cannot work with, before anything is started.
    pub fn check(&self, subject: Subject) -> Result<&Torch, Error> {
        self.check_subject(subject)?;
        let python = self.executable.clone();
        let Some(torch) = &self.torch else {
            return Err(Error::NoTorch { python });
        };
        let version = torch.version();
        if torch.cuda.is_none() {
            return Err(Error::NoCuda { version, python, rocm: torch.hip.is_some() });
        }
        if !torch.is_supported() {
            return Err(Error::OldTorch { version });
        }
        Ok(torch)
    }

    fn check_subject(&self, subject: Subject) -> Result<(), Error> {
        match (&self.problem, subject) {
            (None, _) | (_, Subject::Nothing) => Ok(()),
            (Some(Problem::Syntax { message, line, code }), Subject::Script(script)) => Err(Error::Syntax {
                file: script.display().to_string(),
                line: *line,
                message: message.clone(),
                code: code.clone(),
            }),
            (_, Subject::Script(script)) => Err(Error::NoScript(script.to_owned())),
            (_, Subject::Module(module)) => Err(Error::NoModule(module.to_owned())),
        }
    }
}

impl Torch {
    /// The version as torch writes it, or as its installer did.
    pub fn version(&self) -> String {
        let written = self.version.clone().or_else(|| self.packages.get("torch").cloned());
        written.unwrap_or_else(|| "of unknown version".into())
    }

    /// An unreadable version gets the benefit of the doubt.
    pub fn is_supported(&self) -> bool {
        parse_version(&self.version()).is_none_or(|version| version >= OLDEST_TORCH)
    }

    /// cuDNN's version, from the package that brought it.
    pub fn cudnn(&self) -> Option<String> {
        let (_, version) = self.packages.iter().find(|(name, _)| name.starts_with("nvidia-cudnn-"))?;
        Some(version.split('.').take(3).collect::<Vec<_>>().join("."))
    }

    pub fn package(&self, name: &str) -> Option<&str> {
        self.packages.get(name).map(String::as_str)
    }
}

pub fn parse_version(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.split(['.', '+', 'a', 'r']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn torch(version: &str) -> Torch {
        let packages = [("nvidia-cudnn-cu13".to_owned(), "9.19.0.56".to_owned())].into();
        Torch { folder: "torch".into(), version: Some(version.into()), cuda: Some("13.0".into()), hip: None, packages }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(!torch("2.5.1+cu121").is_supported());
        assert!(torch("2.6.0").is_supported());
        assert!(torch("2.15.0a0+git123").is_supported());
        assert!(torch("a-fork").is_supported());
    }

    #[test]
    fn cudnn_is_written_as_torch_writes_it() {
        assert_eq!(torch("2.11.0").cudnn().as_deref(), Some("9.19.0"));
    }
}
