//! What was found out about one run: plain data, with no opinion on how it looks.
//!
//! A number that nobody saw is `None`; 0 always means that 0 was counted.

use trace::{Basis, Category, OomMessage, Phase};

/// The answer to "why did it die?", or to "what holds the memory?" for a run that did not.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The likeliest cause. [`Cause::Unknown`] is an honest answer.
    pub verdict: Finding,
    /// Other causes that hold too, likeliest first.
    pub also: Vec<Finding>,
    /// Present when the run was out of memory.
    pub oom: Option<Oom>,
    pub peak: Peak,
    pub held: Held,
    /// Largest saving first; those whose saving nobody can count come last.
    pub fixes: Vec<Fix>,
    pub warnings: Vec<String>,
}

/// One cause, with what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub cause: Cause,
    /// From 0, a guess, to 1, no doubt.
    pub confidence: f64,
    /// One sentence, without a full stop.
    pub summary: String,
    pub evidence: Vec<Fact>,
}

/// Something that was seen, as a person would say it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fact {
    pub text: String,
    pub bytes: Option<u64>,
    pub location: Option<Location>,
}

/// A line of code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    pub file: String,
    pub line: u32,
    pub function: String,
}

/// Why memory ran out. The id of each is in [`Cause::id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    Batch,
    ModelStates,
    OptimizerState,
    Logits,
    AttentionQuadratic,
    InputSize,
    Leak,
    EvalGrad,
    GrowthInference,
    DataOnGpu,
    ModelCopies,
    Fragmentation,
    CacheHeld,
    OtherProcess,
    Workspace,
    OutsideAllocator,
    Unknown,
}

impl Cause {
    /// As it is written in JSON and in the documentation.
    pub fn id(self) -> &'static str {
        match self {
            Cause::Batch => "batch",
            Cause::ModelStates => "model-states",
            Cause::OptimizerState => "optimizer-state",
            Cause::Logits => "logits",
            Cause::AttentionQuadratic => "attention-quadratic",
            Cause::InputSize => "input-size",
            Cause::Leak => "leak",
            Cause::EvalGrad => "eval-grad",
            Cause::GrowthInference => "growth-inference",
            Cause::DataOnGpu => "data-on-gpu",
            Cause::ModelCopies => "model-copies",
            Cause::Fragmentation => "fragmentation",
            Cause::CacheHeld => "cache-held",
            Cause::OtherProcess => "other-process",
            Cause::Workspace => "workspace",
            Cause::OutsideAllocator => "outside-allocator",
            Cause::Unknown => "unknown",
        }
    }
}

/// The allocation that was refused. Whatever the trace knows comes from it, the rest from the message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Oom {
    /// What was asked for: the tensor's bytes where a trace shows them, else the message's.
    pub requested_bytes: Option<u64>,
    pub device: Option<u32>,
    pub step: Option<u32>,
    pub phase: Option<Phase>,
    /// The innermost line of the user's own code.
    pub location: Option<Location>,
    /// That line, where a log or the recorder kept it.
    pub code: Option<String>,
    pub allocated_bytes: Option<u64>,
    pub reserved_bytes: Option<u64>,
    /// The largest piece that was free inside what PyTorch held.
    pub largest_free_bytes: Option<u64>,
    pub device_free_bytes: Option<u64>,
    pub device_total_bytes: Option<u64>,
    pub rank: Option<u32>,
    /// As the log or the trace's clock wrote it.
    pub time: Option<String>,
    /// Microseconds since 1970, from the trace.
    pub time_us: Option<u64>,
    pub message: Option<OomMessage>,
}

/// The highest marks, each over the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    pub allocated_bytes: Option<u64>,
    pub reserved_bytes: Option<u64>,
}

/// Who held the memory, at one moment. The lists are whole, largest first; formats cut them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Held {
    /// Absent where there was no trace.
    pub when: Option<Moment>,
    /// All that tensors held then.
    pub total_bytes: Option<u64>,
    pub by_category: Vec<HeldFor>,
    pub by_module: Vec<HeldBy>,
    pub by_line: Vec<HeldAt>,
}

/// The moment that [`Held`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// When the allocation was refused.
    Oom,
    Peak,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldFor {
    pub category: Category,
    pub bytes: u64,
    pub basis: Basis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBy {
    /// Dotted path in its model, or the name of its class.
    pub module: String,
    pub bytes: u64,
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldAt {
    pub location: Location,
    pub bytes: u64,
    /// Tensors.
    pub count: u64,
}

/// Something to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Kebab-case, as the remedies of `oomph plan` are named.
    pub remedy: String,
    /// At the moment of [`Held`]; absent where nobody can count it.
    pub frees_bytes: Option<u64>,
    /// One sentence, with the code or the setting.
    pub how: String,
}
