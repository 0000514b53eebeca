//! How the command ends.

use std::process::ExitCode;

/// The exit status, and what it means to a script that called us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// It fits; nothing is wrong.
    Fits,
    /// It does not fit; something is wrong.
    DoesNotFit,
    /// There is no answer.
    CouldNotTell,
    /// A signal ended the try: 128 and its number, as shells count it.
    Signal(i32),
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> ExitCode {
        ExitCode::from(match status {
            ExitStatus::Fits => 0,
            ExitStatus::DoesNotFit => 1,
            ExitStatus::CouldNotTell => 2,
            ExitStatus::Signal(number) => 128 + (number & 0x7f) as u8,
        })
    }
}

/// Help and version are answers; anything else clap complains about is a usage error.
pub fn of_usage(error: &clap::Error) -> ExitStatus {
    // A reader that went away early is no reason to complain.
    let _ = error.print();
    if error.use_stderr() { ExitStatus::CouldNotTell } else { ExitStatus::Fits }
}
