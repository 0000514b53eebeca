//! Bytes and durations: parsed from what people type, written the way they read.
//!
//! Sizes are bytes everywhere inside oomph. They become "17.3 GiB" only here, when written for a person, and
//! "24GB" becomes bytes only here, when read from one.

mod bytes;
mod elapsed;

pub use bytes::{Bytes, ParseBytesError};
pub use elapsed::Elapsed;
