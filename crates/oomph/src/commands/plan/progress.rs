//! One line on stderr while plans are sought, and an ear for signals.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use remedies::Choice;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use units::{Bytes, Elapsed};

use crate::error::Error;
use crate::session::Event;

const REDRAW: Duration = Duration::from_millis(100);
const CLEAR: &str = "\r\x1b[K";
const WIDTH: usize = 78;

pub struct Progress {
    terminal: bool,
    started: Instant,
    drawn: Instant,
    signals: Signals,
    doing: String,
    expected: Vec<String>,
    tried: usize,
}

impl Progress {
    pub fn new() -> Result<Progress, Error> {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|source| Error::Io {
            doing: "watch signals in",
            path: std::env::temp_dir(),
            source,
        })?;
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let now = Instant::now();
        Ok(Progress {
            terminal: io::stderr().is_terminal() && !dumb,
            started: now,
            drawn: now,
            signals,
            doing: String::new(),
            expected: Vec::new(),
            tried: 0,
        })
    }

    /// What is done from now on, in a few words.
    pub fn say(&mut self, doing: &str) {
        self.doing = doing.to_owned();
        if !self.terminal {
            let _ = writeln!(io::stderr().lock(), "oomph: {doing}");
        }
        self.draw();
    }

    /// The candidates of the next round.
    pub fn expect<'c>(&mut self, candidates: impl Iterator<Item = &'c [Choice]>) {
        self.expected = candidates.map(name).collect();
    }

    /// The patched scripts of these plans are run next.
    pub fn expect_patched(&mut self, numbers: impl Iterator<Item = usize>) {
        self.expected = numbers.map(|number| format!("the patch of plan {number}")).collect();
    }

    /// Draws, and says whether a signal came.
    pub fn tick(&mut self, news: &[(usize, &Event)]) -> Option<i32> {
        for (place, event) in news {
            if let Event::End(end) = event {
                self.tried += 1;
                let name = self.expected.get(*place).cloned().unwrap_or_else(|| "the script".into());
                let peak = end.peak.and_then(|peak| peak.device_bytes).map(|bytes| format!(": {}", Bytes(bytes)));
                let line = format!("{name}{}", peak.unwrap_or_default());
                if self.terminal {
                    self.doing = line
                } else {
                    let _ = writeln!(io::stderr().lock(), "oomph: tried {line}");
                }
            }
        }
        if self.drawn.elapsed() > REDRAW {
            self.draw();
        }
        self.signals.pending().next()
    }

    pub fn finish(&mut self) {
        if self.terminal {
            let _ = io::stderr().lock().write_all(CLEAR.as_bytes());
        }
    }

    fn draw(&mut self) {
        self.drawn = Instant::now();
        if !self.terminal {
            return;
        }
        let line = format!("oomph: {} | {} tried, {}", Elapsed(self.started.elapsed()), self.tried, self.doing);
        let line: String = line.chars().take(WIDTH).collect();
        let _ = write!(io::stderr().lock(), "{CLEAR}{line}");
        let _ = io::stderr().lock().flush();
    }
}

fn name(choices: &[Choice]) -> String {
    let ids: Vec<&str> = choices.iter().map(Choice::id).collect();
    if ids.is_empty() { "the script as it is".into() } else { ids.join(" + ") }
}
