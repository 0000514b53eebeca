//! Where answers and complaints go: answers to stdout, everything else to stderr.

use std::error::Error as _;
use std::io::{self, IsTerminal, Write};

use crate::error::Error;

/// Writes the answer. A reader that has seen enough and left is not an error.
pub fn answer(text: &str) {
    let _ = try_answer(text);
}

/// Writes the answer, for those who go on and must know that nobody reads it any more.
pub fn try_answer(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
}

/// `error: …`, its causes, and the next step.
pub fn complain(error: &Error) {
    let mut text = format!("{}: {error}\n", paint("error", RED));
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!("  caused by: {inner}\n"));
        cause = inner.source();
    }
    if let Some(hint) = error.hint() {
        text.push_str(&format!("{}: {hint}\n", paint("hint", BLUE)));
    }
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// An error and its causes, for a place that has one line.
pub fn in_one_line(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

/// An error that does not end the run.
pub fn say_error(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}: {text}", paint("error", RED));
}

/// Something to know that is neither the answer nor a complaint.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "oomph: {text}");
}

pub fn warn(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}: {text}", paint("warning", YELLOW));
}

pub fn hint(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}: {text}", paint("hint", BLUE));
}

const RED: &str = "1;31";
const BLUE: &str = "1;34";
const YELLOW: &str = "1;33";

fn paint(word: &str, colour: &str) -> String {
    if stderr_takes_colour() { format!("\x1b[{colour}m{word}\x1b[0m") } else { word.to_owned() }
}

pub fn stdout_takes_colour() -> bool {
    colour_is_welcome() && io::stdout().is_terminal()
}

/// Whether the answer goes to a terminal that can be cleared.
pub fn stdout_is_a_screen() -> bool {
    io::stdout().is_terminal() && !terminal_is_dumb()
}

fn stderr_takes_colour() -> bool {
    colour_is_welcome() && io::stderr().is_terminal()
}

fn colour_is_welcome() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && !terminal_is_dumb()
}

fn terminal_is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
