//! Reads what PyTorch writes about its memory into a [`trace::Recording`], and never runs it.
//!
//! A snapshot is a pickle, and a pickle is a program: Python's reader runs whatever it says. Ours knows only the opcodes
//! that data needs, and refuses and names the others. It reads in one pass and keeps no more than the recording itself:
//! a dict becomes a row, a frame or a block as it closes, and a list of frames becomes the id of a stack.
//!
//! ```no_run
//! let recording = snapshot::read_recording(std::fs::File::open("s.pickle")?)?;
//! println!("{} devices", recording.devices.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ahead;
mod beginning;
mod compression;
mod content;
mod error;
mod input;
mod log;
pub mod message;
mod pickle;
mod recording;
mod shape;
mod tried;

pub use error::Error;
pub use input::{Input, read_all, read_path};
pub use log::{FirstFailure, Log};
pub use recording::read_recording;
pub use tried::TryResult;
