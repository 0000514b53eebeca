//! The catalogue of cards: what each is called, holds and can do, and where each number is from.
//!
//! The cards are data: `cards/*.toml`, one file a family. To add a card, add a `[[card]]` entry to its family's file;
//! to add a family, add a file and its line in `src/family.rs`. Tests check what is there.
//!
//! # What the numbers mean
//!
//! - `memory_bytes` is what CUDA reports as the card's total (`cudaMemGetInfo`, `torch.cuda.mem_get_info`), which is
//!   less than the box says: the driver keeps some, and ECC on GDDR memory takes a sixteenth. It is that of current
//!   Linux drivers (those that CUDA 12.8 and 13 need); drivers before 550 leave 100 to 150 MiB more, and Windows
//!   reports the full size.
//! - `context_bytes` and `library_bytes` are what a process holds outside PyTorch's allocator (see `overhead`).
//! - A card is *measured* when those three were measured on the card itself; otherwise *derived*, and `source` says
//!   from what: a total that somebody reported in public, or the family's rule.

mod architecture;
mod attributes;
mod card;
mod family;
mod link;
mod names;
mod overhead;

use std::sync::LazyLock;

pub use architecture::{Architecture, Compute};
pub use card::{Basis, Card, Throughput};
pub use names::NotFound;

static CARDS: LazyLock<Vec<Card>> = LazyLock::new(family::read_all);

/// Every card, families in the order of the registry, cards in the order of their file.
pub fn all() -> &'static [Card] {
    &CARDS
}

/// The card of this id, alias or CUDA name. Case, spaces and dashes do not matter, nor does "GB" for "G".
///
/// A name that several cards share means the commonest of them: `a100` is the 80 GB SXM card, `h100` the 80 GB SXM
/// card, `v100` and `p100` the 16 GB cards, `rtx-3060` has 12 GB, `rtx-3080` 10 GB, `rtx-4060-ti` 8 GB and
/// `rtx-5060-ti` 16 GB.
///
/// ```
/// assert_eq!(gpus::find("RTX 4090").unwrap().id, "rtx-4090");
/// assert_eq!(gpus::find("a100-80GB").unwrap().name, "NVIDIA A100-SXM4-80GB");
/// assert_eq!(gpus::find("rtx 4091").unwrap_err().nearest[0], "rtx-4090");
/// ```
pub fn find(name: &str) -> Result<&'static Card, NotFound> {
    names::find(all(), name)
}
