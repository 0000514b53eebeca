//! Dropout: states for the random generator, and whether a descriptor drops anything at all.
//!
//! The real descriptor only takes its probability together with a device; it is remembered here,
//! because recurrent layers need room for their masks when it is not zero.

use super::SUCCESS;
use crate::card;
use crate::fill::put;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard};

/// 1,024 generators of 48 bytes for each multiprocessor: 6,488,064 bytes on an H200 with 132.
const STATES_PER_MULTIPROCESSOR: usize = 1024 * 48;

static PROBABILITIES: LazyLock<Mutex<HashMap<usize, f32>>> = LazyLock::new(Mutex::default);

fn probabilities() -> MutexGuard<'static, HashMap<usize, f32>> {
    PROBABILITIES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Whether a descriptor was set to drop something.
pub fn drops(descriptor: usize) -> bool {
    probabilities().get(&descriptor).is_some_and(|&probability| probability > 0.0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnDropoutGetStatesSize(_handle: usize, out: *mut usize) -> i32 {
    let bytes = card::card().multiprocessors() as usize * STATES_PER_MULTIPROCESSOR;
    // SAFETY: null or the caller's to be written.
    unsafe { put(out, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetDropoutDescriptor(descriptor: usize, _handle: usize, probability: f32) -> i32 {
    probabilities().insert(descriptor, probability);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudnnRestoreDropoutDescriptor(descriptor: usize, _handle: usize, probability: f32) -> i32 {
    probabilities().insert(descriptor, probability);
    SUCCESS
}

crate::succeed! { cudnnDropoutForward cudnnDropoutBackward }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_drops_what_it_was_last_set_to() {
        assert!(!drops(0x10));
        cudnnSetDropoutDescriptor(0x10, 0, 0.5);
        assert!(drops(0x10));
        cudnnRestoreDropoutDescriptor(0x10, 0, 0.0);
        assert!(!drops(0x10));
    }
}
