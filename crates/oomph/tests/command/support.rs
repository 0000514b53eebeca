//! A scratch folder to run the real command in, with the Python of the checkout.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The Python that has torch. Tests that need it fail without it: skipped is not passed.
pub fn python() -> PathBuf {
    let named = std::env::var_os("OOMPH_TEST_PYTHON").map(PathBuf::from);
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    let python = named.unwrap_or(ours);
    assert!(
        python.exists(),
        "no Python with torch at {}: run `make setup`, or name one in OOMPH_TEST_PYTHON",
        python.display()
    );
    python
}

/// A folder of its own for every test.
pub struct Scratch {
    folder: TempDir,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> &Scratch {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// `oomph` with these arguments, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oomph"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command.env_remove("PYTHONPATH").env_remove("VIRTUAL_ENV").env("NO_COLOR", "1");
        // A shell's background job, which these tests may run in, has it ignored, and its children inherit that.
        // SAFETY: signal is safe between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            })
        };
        command
    }

    /// `oomph try` with the checkout's Python: the arguments come after the options that every test has.
    pub fn tried(&self, args: &[&str]) -> Ran {
        Ran::of(self.try_command(args).output().expect("oomph runs"))
    }

    pub fn try_command(&self, args: &[&str]) -> Command {
        let python = python();
        let mut all = vec!["try", "--python", python.to_str().expect("a plain path"), "--json"];
        all.extend(args);
        self.command(&all)
    }

    /// Starts it and comes back once it has said `word` on stderr; a thread keeps reading the rest.
    pub fn start_until(&self, args: &[&str], word: &str) -> Child {
        use std::io::{BufRead, BufReader};
        let mut command = self.try_command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("oomph starts");
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.lines().last().is_some_and(|line| line.contains(word)) {
            let more = stderr.read_line(&mut said).unwrap();
            assert!(more > 0, "oomph ended before it said {word:?}; it said {said}");
        }
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        child
    }
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Could not tell, for a reason that has these words in it.
    #[track_caller]
    pub fn could_not_tell(&self, words: &[&str]) -> &Ran {
        assert_eq!(self.code, Some(2), "{self:#?}");
        let json = self.json();
        assert!(json["fits"].is_null(), "{self:#?}");
        let why = format!("{} {}", json["error"]["message"], json["error"]["hint"]);
        for word in words {
            assert!(why.contains(word), "{word:?} in {why:?}\n{self:#?}");
        }
        self
    }
}

/// A training loop of a few lines; `{}` in `rest` is nothing special.
pub const TRAIN: &str = "\
import torch
model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.AdamW(model.parameters())
def step():
    optimizer.zero_grad()
    model(torch.randn(64, 1024).cuda()).sum().backward()
    optimizer.step()
";
