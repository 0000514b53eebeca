//! A pickle machine for data: it builds handles, imports nothing and calls nothing.
//!
//! Bytes come through a [`window::Window`], [`machine::Machine`] turns opcodes into [`handle::Handle`]s of eight bytes,
//! containers live in a [`store::Store`] only until they are used, and a [`Meaning`] says what a finished dict, list or
//! text stands for. What has a meaning shrinks to a handle at once; the rest stays a plain container.

mod fill;
mod flat;
pub mod handle;
pub mod machine;
pub mod opcode;
mod runs;
mod salvage;
pub mod store;
#[cfg(test)]
mod tests;
pub mod window;

use handle::Handle;
use store::Store;

/// Why the machine stopped before the end of the pickle.
#[derive(Debug)]
pub enum Stop {
    /// The bytes ended.
    End,
    /// No pickle has this here.
    Malformed(String),
    /// An opcode that would import or call.
    Refused { opcode: &'static str, at: u64, global: Option<String> },
    /// More memory would be needed than such a file may ask for.
    TooMuch,
    /// The source failed.
    Broken(std::io::Error),
}

/// What values stand for. `None` keeps a container as it is.
pub trait Meaning {
    fn text(&mut self, text: &[u8]) -> Result<Handle, Stop>;
    /// The other way round, for messages; empty where the handle is no text.
    fn spelled(&self, text: Handle) -> String;
    /// `pairs` has keys at even places and values at odd ones.
    fn dict(&mut self, pairs: &[Handle], store: &Store) -> Option<Handle>;
    fn list(&mut self, items: &[Handle]) -> Option<Handle>;
    /// The items of a list, from what `list` made of it.
    fn items(&self, meaning: Handle) -> Vec<Handle>;
    /// Bytes of memory that this side keeps.
    fn held_bytes(&self) -> u64;
}
