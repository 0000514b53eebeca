//! `--watch`: checks again whenever something changed, until it is told to end.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lint::{Seen, Watch};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::say::{self, Mended};
use crate::args::CheckArgs;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::output;

/// As soon as one looks at the other window.
const PAUSE: Duration = Duration::from_millis(300);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// Looking for changes takes at most about this part of a core.
const SHARE: u32 = 10;
const POLL: Duration = Duration::from_millis(20);

pub fn run(options: &CheckArgs, paths: Vec<PathBuf>, asked: lint::Options) -> Result<ExitStatus, Error> {
    let failed = |source| Error::Io { doing: "watch", path: paths[0].clone(), source };
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
    let mut watch = Watch::new(paths, asked)?;
    let mut pause = PAUSE;
    let mut is_first = true;
    loop {
        let began = Instant::now();
        match watch.look() {
            Some(seen) => {
                // Nobody reads the answer any more.
                if say(options, &seen, is_first).is_err() {
                    return Ok(ExitStatus::Fits);
                }
                is_first = false;
            }
            None => pause = (began.elapsed() * SHARE).clamp(PAUSE, LONGEST_PAUSE),
        }
        if let Some(number) = wait(&mut signals, pause) {
            return Ok(ExitStatus::Signal(number));
        }
    }
}

fn say(options: &CheckArgs, seen: &Seen, is_first: bool) -> io::Result<()> {
    if output::stdout_is_a_screen() {
        output::try_answer(CLEAR)?;
    }
    if !is_first {
        eprintln!("\n{}", changed(seen));
    }
    say::report(options, &seen.report, &Mended::new())?;
    if is_first {
        eprintln!("Watching {}; Ctrl-C ends", say::counted(seen.report.files, "file"));
    }
    Ok(())
}

const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

/// `train.py changed`, `train.py and 3 more files changed`.
fn changed(seen: &Seen) -> String {
    let first = seen.changed.first().map(|path| report::checked::shown(path)).unwrap_or_default();
    match seen.changed.len() {
        0 | 1 => format!("{first} changed"),
        more => format!("{first} and {} changed", say::counted(more - 1, "more file")),
    }
}

/// Waits, or gives the signal that came.
fn wait(signals: &mut Signals, pause: Duration) -> Option<i32> {
    let end = Instant::now() + pause;
    while Instant::now() < end {
        if let Some(number) = signals.pending().next() {
            return Some(number);
        }
        std::thread::sleep(POLL);
    }
    signals.pending().next()
}
