//! What a run on the ghost showed, without its trace.

/// What `oomph try --json` said besides the error.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tried {
    pub fits: Option<bool>,
    pub gpu: Option<String>,
    pub gpu_bytes: Option<u64>,
    pub peak_allocated_bytes: Option<u64>,
    pub peak_reserved_bytes: Option<u64>,
    pub peak_device_bytes: Option<u64>,
    /// Right after each optimizer step: allocated bytes, and the running peak.
    pub steps: Vec<TriedStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriedStep {
    pub step: u32,
    pub allocated_bytes: u64,
    pub peak_allocated_bytes: u64,
}
