//! The card that is imitated: a text file of `key=value` lines named by `GHOST_CARD`.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What a program can learn about the device.
pub struct Card {
    pub name: String,
    /// What `cudaMemGetInfo` calls total.
    pub total_bytes: u64,
    /// Held outside PyTorch's allocator once the context exists.
    pub context_bytes: u64,
    /// Held further once cuBLAS or cuDNN have loaded their kernels.
    pub library_bytes: u64,
    pub major: i32,
    pub minor: i32,
    /// The driver's CUDA version, as `cudaDriverGetVersion` writes it (13000 is 13.0).
    pub driver: i32,
    attributes: HashMap<i32, i32>,
}

impl Card {
    fn read(text: &str) -> Option<Card> {
        let pairs: HashMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let number = |key: &str| pairs.get(key)?.trim().parse::<u64>().ok();
        let attributes = pairs
            .iter()
            .filter_map(|(key, value)| {
                let index = key.strip_prefix("attribute.")?.parse().ok()?;
                Some((index, value.trim().parse().ok()?))
            })
            .collect();
        Some(Card {
            name: pairs.get("name")?.trim().to_owned(),
            total_bytes: number("total_bytes")?,
            context_bytes: number("context_bytes").unwrap_or(0),
            library_bytes: number("library_bytes").unwrap_or(0),
            major: number("major")? as i32,
            minor: number("minor")? as i32,
            driver: number("driver").unwrap_or(13000) as i32,
            attributes,
        })
    }

    /// A `CUdevice_attribute` by its number; attributes a card's file does not name are 0.
    pub fn attribute(&self, index: i32) -> i32 {
        self.attributes.get(&index).copied().unwrap_or(0)
    }

    pub fn multiprocessors(&self) -> i32 {
        self.attribute(16).max(1)
    }
}

/// Null until the card is first asked for; what it points to is never freed.
static CARD: AtomicPtr<Option<Card>> = AtomicPtr::new(std::ptr::null_mut());

fn load() -> Option<Card> {
    let path = std::env::var_os("GHOST_CARD")?;
    let card = std::fs::read_to_string(&path).ok().as_deref().and_then(Card::read);
    if card.is_none() {
        crate::log::complain(format_args!("GHOST_CARD {} cannot be read as a card", path.display()));
    }
    card
}

/// The card, if this process has one.
pub fn present() -> Option<&'static Card> {
    let mut known = CARD.load(Ordering::Acquire);
    if known.is_null() {
        known = Box::into_raw(Box::new(load()));
        CARD.store(known, Ordering::Release);
    }
    // SAFETY: it came from a box that nobody frees.
    unsafe { &*known }.as_ref()
}

/// Reads the card anew when it is next asked for: a forked process has one of its own.
pub fn forget() {
    CARD.store(std::ptr::null_mut(), Ordering::Release);
}

/// The card, for calls that only make sense once a device was found.
pub fn card() -> &'static Card {
    static NOTHING: OnceLock<Card> = OnceLock::new();
    present().unwrap_or_else(|| {
        NOTHING.get_or_init(|| {
            let text = "name=none\ntotal_bytes=0\nmajor=0\nminor=0";
            Card::read(text).expect("the empty card is well-formed")
        })
    })
}

/// How many such cards: `GHOST_DEVICES`, or as many as the launcher starts processes on this machine.
pub fn device_count() -> i32 {
    if present().is_none() {
        return 0;
    }
    let named = |key| std::env::var(key).ok()?.parse::<i32>().ok();
    named("GHOST_DEVICES").or_else(|| named("LOCAL_WORLD_SIZE")).unwrap_or(1).clamp(1, MAX_DEVICES)
}

/// More devices than any machine has today.
pub const MAX_DEVICES: i32 = 64;

/// The CUDA version of this process's runtime library, for example 13000.
///
/// The real runtime library is loaded beside us and knows its own version without a device.
pub fn cuda_version() -> i32 {
    static VERSION: OnceLock<i32> = OnceLock::new();
    *VERSION.get_or_init(|| {
        [c"libcudart.so.13", c"libcudart.so.12"].into_iter().find_map(runtime_version).unwrap_or_else(|| card().driver)
    })
}

fn runtime_version(library: &CStr) -> Option<i32> {
    let symbol = crate::beside::symbol(&[library], c"cudaRuntimeGetVersion")?;
    // SAFETY: the documented signature is int(int*).
    let ask: extern "C" fn(*mut i32) -> i32 = unsafe { std::mem::transmute(symbol) };
    let mut version = 0;
    (ask(&mut version) == 0).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::Card;

    #[test]
    fn a_card_is_read_from_its_lines() {
        let card =
            Card::read("name=NVIDIA H200\ntotal_bytes=150109880320\nmajor=9\nminor=0\nattribute.16=132\n").unwrap();
        assert_eq!(card.name, "NVIDIA H200");
        assert_eq!(card.total_bytes, 150_109_880_320);
        assert_eq!(card.multiprocessors(), 132);
        assert_eq!(card.attribute(99), 0);
    }

    #[test]
    fn a_card_without_its_size_is_refused() {
        assert!(Card::read("name=NVIDIA H200\nmajor=9\nminor=0").is_none());
    }
}
