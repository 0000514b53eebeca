//! `--watch` and Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use super::{BAD, MENDED};
use crate::support::Scratch;

const PATIENCE: Duration = Duration::from_secs(20);

/// A running `oomph check --watch`, whose lines come as they are written.
struct Watching {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Watching {
    fn start(scratch: &Scratch, args: &[&str]) -> Watching {
        let mut command = scratch.command(&[&["check", "--watch"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Watching { child, stdout, stderr }
    }

    /// Reads on until it says this.
    #[track_caller]
    fn says(&self, word: &str) {
        wait_for(&self.stderr, word);
    }

    #[track_caller]
    fn answers(&self, word: &str) {
        wait_for(&self.stdout, word);
    }

    fn end(mut self, signal: i32) -> Option<i32> {
        // SAFETY: the child is ours and not yet waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
        self.child.wait().unwrap().code()
    }
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

#[track_caller]
fn wait_for(lines: &Receiver<String>, word: &str) {
    let end = Instant::now() + PATIENCE;
    let mut seen = Vec::new();
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) if line.contains(word) => return,
            Ok(line) => seen.push(line),
            Err(_) => panic!("{word:?} was not said; this was: {seen:#?}"),
        }
    }
}

#[test]
fn changes_are_checked_again() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD).write("sub/clean.py", "import torch\n");
    let watching = Watching::start(&scratch, &["--output-format", "concise"]);
    watching.answers("bad.py:3:1: A07");
    watching.says("Watching 2 files; Ctrl-C ends");

    scratch.write("sub/new.py", BAD);
    watching.says("sub/new.py changed");
    watching.answers("bad.py:3:1: A07");
    watching.answers("sub/new.py:3:1: A07");

    // As editors save: another file takes the name.
    scratch.write("sub/new.py~", "def f(:\n");
    std::fs::rename(scratch.path("sub/new.py~"), scratch.path("sub/new.py")).unwrap();
    watching.says("error: sub/new.py:1:7: syntax error");

    std::fs::remove_file(scratch.path("sub/new.py")).unwrap();
    scratch.write("bad.py", MENDED);
    watching.says("no findings in 2 files");
    assert_eq!(watching.end(libc::SIGINT), Some(130));
}

#[test]
fn it_ends_when_told_and_when_nobody_reads() {
    let scratch = Scratch::new();
    let watching = Watching::start(&scratch, &[]);
    watching.says("Watching no files");
    assert_eq!(watching.end(libc::SIGTERM), Some(143));

    scratch.write("bad.py", BAD);
    let mut command = scratch.command(&["check", "--watch"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn fixing_and_watching_do_not_mix() {
    let ran = Scratch::new().check(&["--watch", "--fix"]);
    ran.ends(2).says(&["--watch", "--fix"]);
}

#[test]
fn ctrl_c_ends_a_plain_check() {
    let scratch = Scratch::new();
    for number in 0..1_000 {
        scratch.write(&format!("f{number}.py"), &BAD.repeat(400));
    }
    let mut child = scratch.command(&["check"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    // SAFETY: the child is ours and not yet waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let began = Instant::now();
    let status = child.wait().unwrap();
    assert!(status.signal() == Some(libc::SIGINT) || status.code() == Some(130), "{status:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
}
