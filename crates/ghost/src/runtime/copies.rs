//! Copies and fills: the only traffic between the host's values and the ghost's.

use super::*;
use crate::known::{self, KEPT_AT_MOST};
use crate::{memory, say, succeed};

/// Moves `bytes` from one address to another, whichever side each is on.
///
/// # Safety
/// Host addresses among the two are readable or writable for `bytes`.
pub unsafe fn transfer(to: usize, from: usize, bytes: usize) {
    if bytes == 0 {
        return;
    }
    match (memory::device_of(to), memory::device_of(from)) {
        (Some(_), Some(_)) => known::copy(to as u64, from as u64, bytes),
        // SAFETY: `from` is host memory of this size, as the caller promises.
        (Some(_), None) => unsafe { keep(to as u64, from as *const u8, bytes) },
        (None, Some(_)) => {
            say!("read {bytes} bytes at {from:x}");
            // SAFETY: `to` is host memory of this size, as the caller promises.
            known::answer(from as u64, unsafe { std::slice::from_raw_parts_mut(to as *mut u8, bytes) });
        }
        // SAFETY: both are host memory; they may overlap.
        (None, None) => unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) },
    }
}

unsafe fn keep(to: u64, from: *const u8, bytes: usize) {
    if bytes > KEPT_AT_MOST {
        return known::forget(to, bytes as u64);
    }
    // SAFETY: as the caller promises.
    known::write(to, unsafe { std::slice::from_raw_parts(from, bytes) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy(to: usize, from: usize, bytes: usize, _kind: i32) -> i32 {
    unsafe { transfer(to, from, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyAsync(to: usize, from: usize, bytes: usize, _kind: i32, _stream: usize) -> i32 {
    unsafe { transfer(to, from, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyPeerAsync(
    to: usize,
    _to_device: i32,
    from: usize,
    _from_device: i32,
    bytes: usize,
    _stream: usize,
) -> i32 {
    unsafe { transfer(to, from, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy2DAsync(
    to: usize,
    to_pitch: usize,
    from: usize,
    from_pitch: usize,
    width: usize,
    height: usize,
    _kind: i32,
    _stream: usize,
) -> i32 {
    for row in 0..height {
        unsafe { transfer(to + row * to_pitch, from + row * from_pitch, width) };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy2D(
    to: usize,
    to_pitch: usize,
    from: usize,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> i32 {
    unsafe { cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, 0) }
}

/// Fills device memory with a repeated pattern of 1, 2, 4 or 8 bytes.
pub fn fill(address: usize, pattern: &[u8], bytes: usize) {
    if memory::device_of(address).is_none() {
        return;
    }
    let mut aligned = [0; 8];
    for offset in 0..8 {
        aligned[(address + offset) % 8] = pattern[offset % pattern.len()];
    }
    known::fill(address as u64, aligned, bytes as u64);
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset(address: usize, value: i32, bytes: usize) -> i32 {
    fill(address, &[value as u8], bytes);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemsetAsync(address: usize, value: i32, bytes: usize, _stream: usize) -> i32 {
    cudaMemset(address, value, bytes)
}

// Symbols are device variables; nothing reads them back.
succeed! { cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaMemcpyFromSymbol cudaMemcpyFromSymbolAsync cudaMemcpyBatchAsync }
