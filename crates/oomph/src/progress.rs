//! How far reading is, on stderr, once it takes longer than anybody wants to wonder.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use units::Bytes;

/// Most files are read before this; they get no line at all.
const PATIENCE: Duration = Duration::from_secs(2);
const REDRAW: Duration = Duration::from_millis(100);
/// In a log, lines cannot be redrawn.
const REPEAT: Duration = Duration::from_secs(30);
const CLEAR: &str = "\r\x1b[K";

/// Shared between threads that read.
pub struct Progress {
    started: Instant,
    terminal: bool,
    state: Mutex<State>,
}

struct State {
    /// What each file has read, and how long it is.
    files: Vec<(u64, Option<u64>)>,
    drawn_at: Option<Instant>,
}

impl Progress {
    pub fn new(files: usize) -> Progress {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let state = State { files: vec![(0, None); files], drawn_at: None };
        Progress { started: Instant::now(), terminal: io::stderr().is_terminal() && !dumb, state: Mutex::new(state) }
    }

    /// File number `index` has read this much.
    pub fn report(&self, index: usize, read: u64, length: Option<u64>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.files[index] = (read, length);
        let pause = if self.terminal { REDRAW } else { REPEAT };
        let due = state.drawn_at.is_none_or(|drawn| drawn.elapsed() > pause);
        if self.started.elapsed() < PATIENCE || !due {
            return;
        }
        state.drawn_at = Some(Instant::now());
        let line = line(&state.files);
        let text = if self.terminal { format!("{CLEAR}oomph: {line}") } else { format!("oomph: {line}\n") };
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Takes the line away: what follows is the answer.
    pub fn finish(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.terminal && state.drawn_at.is_some() {
            let _ = io::stderr().lock().write_all(CLEAR.as_bytes());
        }
    }
}

/// `read 1.2 GiB of 3 GiB`, or without an end for a pipe.
fn line(files: &[(u64, Option<u64>)]) -> String {
    let read = Bytes(files.iter().map(|(read, _)| read).sum());
    let length: Option<u64> = files.iter().map(|(_, length)| *length).sum();
    match length.filter(|&length| length >= read.0) {
        Some(length) if read.0 >= length => format!("read {read}, explaining"),
        Some(length) => format!("read {read} of {}", Bytes(length)),
        None => format!("read {read}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_much_of_what() {
        assert_eq!(line(&[(1 << 30, Some(2 << 30)), (0, Some(1 << 30))]), "read 1 GiB of 3 GiB");
        assert_eq!(line(&[(1 << 30, None)]), "read 1 GiB");
        assert_eq!(line(&[(1 << 30, Some(1 << 30))]), "read 1 GiB, explaining");
    }
}
