//! The waist of oomph: what a memory recording says, in columns.
//!
//! A [`Recording`] is what was read: events, final segments, settings, marks; whoever reads a format fills one in.
//! A [`History`] is what follows from it for one device: every allocation with its real size and life, and how much
//! was held after each event. Everything that explains or draws memory reads these two and nothing else.

mod allocations;
mod crash;
mod events;
mod frames;
mod grounds;
mod history;
mod ids;
mod marks;
mod names;
mod purpose;
mod recording;
mod replay;
mod rules;
mod segments;
mod signs;
mod start;
mod tiling;
mod timing;
mod tried;
mod who;

pub use allocations::{Allocation, Allocations};
pub use crash::{Approx, CodeLine, Crash, OomMessage, ProcessUse, Refuser};
pub use events::{Action, Event, Events};
pub use frames::{Frame, Frames, Stacks};
pub use history::{FreeBlock, HeldSegment, History, Peak};
pub use ids::{AllocationId, EventId, FrameId, NameId, StackId, StreamId};
pub use marks::{Mark, Marks, Scope, Span, StepMark};
pub use names::Names;
pub use purpose::{Basis, Category, Purpose, Purposes};
pub use recording::{Annotation, Device, OomMark, Recording, Settings, Stats, Warning};
pub use segments::{Block, BlockState, PoolId, Segment};
pub use timing::{Phase, Run, Step, Timing};
pub use tried::{Tried, TriedStep};
pub use who::{Group, Who, by_category, by_line, by_module, frame_text, grouped, is_library, is_python};
