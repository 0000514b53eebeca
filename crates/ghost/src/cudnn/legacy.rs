//! cuDNN's older API: a handle, descriptors and one call per operation.
//!
//! Descriptors are the real library's own and never come here. What needs a handle does: the sizes
//! that PyTorch allocates are answered from formulas fitted to an H200 (cuDNN 9.19), and the calls
//! that would compute succeed at once.

mod batch_norm;
mod convolution_v7;
mod ctc;
mod dropout;
mod real_descriptors;
mod rnn;

use crate::fill::put;
use crate::{answer, memory, say};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard};

/// `cudnnStatus_t`, as far as it is needed here.
const SUCCESS: i32 = 0;
const BAD_PARAM: i32 = 2000;

/// The stream of each living handle.
static STREAMS: LazyLock<Mutex<HashMap<usize, usize>>> = LazyLock::new(Mutex::default);

fn streams() -> MutexGuard<'static, HashMap<usize, usize>> {
    STREAMS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreate(out: *mut usize) -> i32 {
    if out.is_null() {
        return BAD_PARAM;
    }
    memory::ensure_libraries();
    let handle = answer::fresh_handle();
    streams().insert(handle, 0);
    say!("cudnnCreate -> {handle:#x}");
    // SAFETY: not null, and the caller's to be written.
    unsafe { put(out, handle) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroy(handle: usize) -> i32 {
    streams().remove(&handle);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetStream(handle: usize, stream: usize) -> i32 {
    streams().insert(handle, stream);
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetStream(handle: usize, out: *mut usize) -> i32 {
    let stream = streams().get(&handle).copied().unwrap_or(0);
    // SAFETY: null or the caller's to be written.
    unsafe { put(out, stream) };
    SUCCESS
}

crate::succeed! {
    cudnnPoolingForward cudnnActivationForward cudnnActivationBackward
    cudnnSpatialTfGridGeneratorForward cudnnSpatialTfGridGeneratorBackward
    cudnnSpatialTfSamplerForward cudnnSpatialTfSamplerBackward
}
