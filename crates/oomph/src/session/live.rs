//! What a person sees while a try runs: the script's own output, and one line of ours below it.
//!
//! On a terminal the line is redrawn in place; elsewhere only what is new is written, sparsely.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use units::{Bytes, Elapsed};

use super::events::Event;

/// Narrower than any terminal in use, so that the line never wraps.
const WIDTH: usize = 78;
const REDRAW: Duration = Duration::from_millis(100);
const CLEAR: &[u8] = b"\r\x1b[K";

/// Shared between the loop that watches and the thread that passes output on.
pub struct Live {
    terminal: bool,
    started: Instant,
    state: Mutex<State>,
}

struct State {
    status: String,
    /// The script's last output ended in a newline, so a line of ours may follow.
    at_line_start: bool,
    /// Lines of ours for the log that came in the middle of one of the script's.
    waiting: String,
    drawn: bool,
    drawn_at: Instant,
    peak: u64,
}

impl Live {
    pub fn new() -> Live {
        let now = Instant::now();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let state = State {
            status: String::new(),
            at_line_start: true,
            waiting: String::new(),
            drawn: false,
            drawn_at: now,
            peak: 0,
        };
        Live { terminal: io::stderr().is_terminal() && !dumb, started: now, state: Mutex::new(state) }
    }

    /// Passes the script's output on, byte for byte.
    pub fn pass(&self, bytes: &[u8]) {
        self.lock().pass(bytes, &mut io::stderr().lock());
    }

    pub fn event(&self, event: &Event) {
        let mut state = self.lock();
        let Some(status) = status(event, &mut state.peak) else {
            return;
        };
        if status == state.status {
            return;
        }
        if !self.terminal && is_worth_a_line(event) {
            state.say(&status, &mut io::stderr().lock());
        }
        state.status = status;
    }

    /// Redraws the line with the time that passed.
    pub fn tick(&self) {
        let mut state = self.lock();
        if !self.terminal || !state.at_line_start || (state.drawn && state.drawn_at.elapsed() < REDRAW) {
            return;
        }
        let status = if state.status.is_empty() { "starting" } else { &state.status };
        let line = format!("oomph: {status} ({})", Elapsed(self.started.elapsed()));
        let line: String = line.chars().take(WIDTH).collect();
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(CLEAR).and_then(|()| stderr.write_all(line.as_bytes()));
        let _ = stderr.flush();
        state.drawn = true;
        state.drawn_at = Instant::now();
    }

    /// Takes the line away: what follows is the answer.
    pub fn finish(&self) {
        self.lock().finish(&mut io::stderr().lock());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic elsewhere leaves the text as it was, which is good enough to go on drawing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pass(&mut self, mut bytes: &[u8], log: &mut impl Write) {
        self.clear(log);
        if !self.waiting.is_empty()
            && let Some(at) = bytes.iter().position(|&byte| ends_line(byte))
        {
            let (line, rest) = bytes.split_at(at + 1);
            let _ = log.write_all(line);
            let _ = log.write_all(std::mem::take(&mut self.waiting).as_bytes());
            bytes = rest;
            self.at_line_start = true;
        }
        let _ = log.write_all(bytes);
        let _ = log.flush();
        self.at_line_start = bytes.last().map_or(self.at_line_start, |&byte| ends_line(byte));
    }

    /// A line of ours, never inside one of the script's: Python may write a line piece by piece.
    fn say(&mut self, status: &str, log: &mut impl Write) {
        let line = format!("oomph: {status}\n");
        if self.at_line_start {
            let _ = log.write_all(line.as_bytes());
        } else {
            self.waiting.push_str(&line);
        }
    }

    fn finish(&mut self, log: &mut impl Write) {
        self.clear(log);
        if !std::mem::replace(&mut self.at_line_start, true) {
            let _ = log.write_all(b"\n");
        }
        let _ = log.write_all(std::mem::take(&mut self.waiting).as_bytes());
    }

    fn clear(&mut self, log: &mut impl Write) {
        if std::mem::take(&mut self.drawn) {
            let _ = log.write_all(CLEAR);
        }
    }
}

fn ends_line(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// The words for an event, if it changes what the script is doing.
fn status(event: &Event, peak: &mut u64) -> Option<String> {
    match event {
        Event::Hello { .. } => Some("importing torch".into()),
        Event::Progress { what, .. } if what == "step" => None,
        Event::Progress { what, detail: Some(detail) } => Some(format!("{what} {detail}")),
        Event::Progress { what, detail: None } => Some(what.clone()),
        Event::Step(step) => {
            *peak = (*peak).max(step.peak_reserved_bytes);
            Some(format!("step {}, peak {}", step.step, Bytes(*peak)))
        }
        Event::Oom(_) => Some("out of memory".into()),
        _ => None,
    }
}

/// In a log, the first steps and then ever fewer: 1, 2, 3, 4, 8, 16, …
fn is_worth_a_line(event: &Event) -> bool {
    match event {
        Event::Step(step) => step.step <= 3 || step.step.is_power_of_two(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: u64, peak: u64) -> Event {
        Event::Step(report::Step {
            step: number,
            allocated_bytes: 0,
            reserved_bytes: 0,
            peak_allocated_bytes: 0,
            peak_reserved_bytes: peak,
            seconds: None,
        })
    }

    #[test]
    fn the_peak_shown_never_falls() {
        let mut peak = 0;
        status(&step(1, 3 << 30), &mut peak);
        let shown = status(&step(2, 1 << 30), &mut peak).unwrap();
        assert_eq!(shown, format!("step 2, peak {}", Bytes(3 << 30)));
    }

    #[test]
    fn our_lines_wait_for_the_end_of_the_scripts() {
        let (live, mut log) = (Live::new(), Vec::new());
        let mut state = live.lock();
        state.say("importing torch", &mut log);
        state.pass(b"loss", &mut log);
        state.say("building", &mut log);
        state.pass(b" 3", &mut log);
        state.say("step 1", &mut log);
        state.pass(b".5\nloss", &mut log);
        state.say("step 2", &mut log);
        state.finish(&mut log);
        let expected = "oomph: importing torch\nloss 3.5\noomph: building\noomph: step 1\nloss\noomph: step 2\n";
        assert_eq!(String::from_utf8(log).unwrap(), expected);
    }

    #[test]
    fn a_log_gets_sparse() {
        let shown: Vec<u64> = (1..=40).filter(|&number| is_worth_a_line(&step(number, 0))).collect();
        assert_eq!(shown, [1, 2, 3, 4, 8, 16, 32]);
    }
}
