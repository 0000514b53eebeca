//! `oomph check` on whole folders: what is found, written, refused, and with which exit status.

mod files;
mod fixes;
mod formats;
mod watch;

use std::io::Write;
use std::process::Stdio;

use crate::support::{Ran, Scratch};

/// One finding, A07, with a safe fix.
const BAD: &str = "import torch\nloss.backward()\noptimizer.zero_grad()\noptimizer.step()\n";
const MENDED: &str = "import torch\nloss.backward()\noptimizer.step()\noptimizer.zero_grad()\n";
/// One finding, E03, with a suggested fix.
const DOUBTFUL: &str = "import torch\ndef f(model, x):\n    torch.no_grad()\n    return model(x)\n";

impl Scratch {
    fn check(&self, args: &[&str]) -> Ran {
        let mut all = vec!["check"];
        all.extend(args);
        Ran::of(self.command(&all).output().expect("oomph runs"))
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

impl Ran {
    #[track_caller]
    fn ends(&self, code: i32) -> &Ran {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    fn says(&self, words: &[&str]) -> &Ran {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} on stderr\n{self:#?}");
        }
        self
    }

    #[track_caller]
    fn answers(&self, words: &[&str]) -> &Ran {
        for word in words {
            assert!(self.stdout.contains(word), "{word:?} on stdout\n{self:#?}");
        }
        self
    }
}

/// Runs it on a terminal that `script` makes, and gives what the terminal shows.
fn on_a_terminal(scratch: &Scratch, args: &str) -> String {
    let oomph = env!("CARGO_BIN_EXE_oomph");
    let mut command = std::process::Command::new("script");
    command.args(["--quiet", "--return", "--command", &format!("{oomph} check {args}"), "/dev/null"]);
    command.current_dir(scratch.path("")).env("TERM", "xterm").env_remove("NO_COLOR");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script starts");
    child.stdin.take().unwrap().flush().unwrap();
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned()
}
