//! What was read from one file.

use crate::{Events, Frames, Marks, NameId, Names, Segment, Stacks};

/// One snapshot of one process: every device it used.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    pub names: Names,
    pub frames: Frames,
    pub stacks: Stacks,
    pub devices: Vec<Device>,
    pub settings: Settings,
    pub annotations: Vec<Annotation>,
    /// What `oomph try` or `oomph run` knew beside: the card, versions, the error.
    pub torch: Option<String>,
    pub cuda: Option<String>,
    pub gpu: Option<String>,
    pub gpu_bytes: Option<u64>,
    pub oom: Option<OomMark>,
    pub warnings: Vec<Warning>,
}

/// One device of the process.
#[derive(Debug, Clone, Default)]
pub struct Device {
    pub index: u32,
    pub events: Events,
    pub segments: Vec<Segment>,
    pub marks: Option<Marks>,
    /// `memory_stats` that were recorded beside the snapshot.
    pub stats: Option<Stats>,
}

/// PyTorch's own counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    pub allocated_bytes: u64,
    pub reserved_bytes: u64,
    pub peak_allocated_bytes: u64,
    pub peak_reserved_bytes: u64,
    pub retries: u64,
    pub ooms: u64,
}

/// The allocator's settings. Absent keys were not in the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// The text of `PYTORCH_CUDA_ALLOC_CONF`.
    pub text: Option<String>,
    pub expandable_segments: Option<bool>,
    pub max_split_size: Option<u64>,
    pub garbage_collection_threshold: Option<f64>,
    /// Slot i is for sizes from 2^(20+i).
    pub roundup_power2_divisions: Vec<u64>,
}

/// A `record_function` scope began or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotation {
    pub name: NameId,
    pub starts: bool,
    pub device: u32,
    pub time_us: u64,
}

/// The error as the recorder saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OomMark {
    pub device: Option<u32>,
    pub requested_bytes: Option<u64>,
    pub message: Option<String>,
    pub step: Option<u32>,
    pub phase: Option<crate::Phase>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub code: Option<String>,
}

/// Something a reader of the numbers should know: `code` for programs, `text` for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub code: &'static str,
    pub text: String,
}
