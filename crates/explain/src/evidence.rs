//! What a run left behind, as far as the user has it.

use trace::{Crash, History, Recording, Tried};

/// Everything there is to look at. At least one of the parts is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence<'a> {
    pub recorded: Option<Recorded<'a>>,
    /// The error, from a log, from `oomph try --json`, or from the recorder's own words beside the trace.
    pub crash: Option<&'a Crash>,
    pub tried: Option<&'a Tried>,
}

/// One device of a recording.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    pub recording: &'a Recording,
    /// Index into `recording.devices`.
    pub device: usize,
    pub history: &'a History,
}
