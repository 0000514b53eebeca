//! `GHOST_LOG`: what was called, for those who look under the hood.
//!
//! `GHOST_LOG=1` writes to standard error, `GHOST_LOG=/path` appends to a file. Without it a call
//! costs one relaxed load.

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::sync::OnceLock;

static SINK: OnceLock<Option<File>> = OnceLock::new();

fn sink() -> Option<&'static File> {
    SINK.get_or_init(open).as_ref()
}

fn open() -> Option<File> {
    let wanted = std::env::var_os("GHOST_LOG").filter(|v| !v.is_empty() && v != "0")?;
    if wanted == "1" {
        // SAFETY: dup returns a descriptor that nobody else owns, or -1, which is checked.
        let copy = unsafe { libc::dup(2) };
        return (copy >= 0).then(|| unsafe { File::from_raw_fd(copy) });
    }
    File::options().create(true).append(true).open(wanted).ok()
}

/// Whether anyone listens: guards the formatting of arguments.
pub fn enabled() -> bool {
    sink().is_some()
}

/// Notes a call that has nothing worth showing but its name.
pub fn call(name: &str) {
    line(format_args!("{name}"));
}

/// Notes a call with its arguments: `say!("cudaMalloc {size}")`.
#[macro_export]
macro_rules! say {
    ($($part:tt)*) => {
        if $crate::log::enabled() {
            $crate::log::line(format_args!($($part)*));
        }
    };
}

/// Writes one line in one write, so that threads do not mix their lines.
pub fn line(text: std::fmt::Arguments) {
    if let Some(mut file) = sink() {
        let _ = file.write_all(format!("ghost[{}] {text}\n", std::process::id()).as_bytes());
    }
}

/// Says on standard error what the person running the program must know.
pub fn complain(text: std::fmt::Arguments) {
    let _ = std::io::stderr().write_all(format!("ghost: {text}\n").as_bytes());
}
