//! What the Python side asks of the ghost: plain C functions, found by `ctypes`.

use crate::{known, memory, notes, twin};
use std::ffi::{c_char, c_void};

/// Counts up when a function below changes its meaning.
#[unsafe(no_mangle)]
pub extern "C" fn ghost_abi() -> u32 {
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn ghost_device_bytes(device: i32) -> u64 {
    memory::used(device)
}

#[unsafe(no_mangle)]
pub extern "C" fn ghost_device_peak_bytes(device: i32) -> u64 {
    memory::peak(device)
}

/// # Safety
/// `bytes` points to `count` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ghost_shadow_write(address: u64, bytes: *const c_void, count: u64) {
    // SAFETY: as the caller promises.
    known::write(address, unsafe { std::slice::from_raw_parts(bytes.cast(), count as usize) });
}

#[unsafe(no_mangle)]
pub extern "C" fn ghost_shadow_forget(address: u64, count: u64) {
    known::forget(address, count);
}

/// # Safety
/// `bytes` points to `count` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ghost_shadow_read(address: u64, bytes: *mut c_void, count: u64) -> i32 {
    // SAFETY: as the caller promises.
    i32::from(known::read(address, unsafe { std::slice::from_raw_parts_mut(bytes.cast(), count as usize) }))
}

/// Every element of the range is the same: `pattern` holds it repeated to eight bytes.
#[unsafe(no_mangle)]
pub extern "C" fn ghost_shadow_fill(address: u64, pattern: u64, count: u64) {
    known::fill(address, turned(pattern.to_le_bytes(), address), count);
}

/// 1 if all of the range is known and repeats one pattern, which is written as [`ghost_shadow_fill`] takes it.
///
/// # Safety
/// `pattern` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ghost_shadow_uniform(address: u64, count: u64, pattern: *mut u64) -> i32 {
    let Some(found) = known::uniform(address, count) else { return 0 };
    let mut from_start = found;
    from_start.rotate_left((address % 8) as usize);
    // SAFETY: as the caller promises.
    unsafe { pattern.write(u64::from_le_bytes(from_start)) };
    1
}

/// A pattern that begins at `address`, as one that begins at an aligned address.
fn turned(mut pattern: [u8; 8], address: u64) -> [u8; 8] {
    pattern.rotate_right((address % 8) as usize);
    pattern
}

/// From here on only reads that `ghost_read_tensors(1)` announces are answered from known bytes.
#[unsafe(no_mangle)]
pub extern "C" fn ghost_watch() {
    known::watch();
}

/// The calling thread's reads are (1) or are not (0) of memory whose values are kept.
#[unsafe(no_mangle)]
pub extern "C" fn ghost_read_tensors(yes: i32) {
    known::read_tensors(yes != 0);
}

/// `GHOST_CARD` names another card now; for a process that was just forked and has not used its card.
#[unsafe(no_mangle)]
pub extern "C" fn ghost_card_changed() {
    crate::card::forget();
}

/// The card is never full for this process; its size is still what `cudaMemGetInfo` says.
#[unsafe(no_mangle)]
pub extern "C" fn ghost_unlimited() {
    memory::never_full();
}

/// # Safety
/// `bytes` points to `count` readable bytes, or `count` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ghost_answer_next(bytes: *const c_void, count: u64) {
    if count == 0 {
        return known::answer_next(&[]);
    }
    // SAFETY: as the caller promises.
    known::answer_next(unsafe { std::slice::from_raw_parts(bytes.cast(), count as usize) });
}

#[unsafe(no_mangle)]
pub extern "C" fn ghost_answer_clear() {
    known::clear_answers();
}

#[unsafe(no_mangle)]
pub extern "C" fn ghost_reads() -> u64 {
    known::reads()
}

/// 0 if the shared log could be made.
#[unsafe(no_mangle)]
pub extern "C" fn ghost_twin_prepare() -> i32 {
    i32::from(!twin::prepare())
}

#[unsafe(no_mangle)]
pub extern "C" fn ghost_twin_lead() {
    twin::lead();
}

#[unsafe(no_mangle)]
pub extern "C" fn ghost_twin_follow(pid: i32) {
    twin::follow_process(pid);
}

#[unsafe(no_mangle)]
pub extern "C" fn ghost_twin_state() -> u32 {
    twin::state()
}

/// Writes the notes of this run, one a line, and returns how long they are.
///
/// # Safety
/// `out` points to `room` writable bytes, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ghost_notes(out: *mut c_char, room: i32) -> i32 {
    let text = notes::all();
    if !out.is_null() && room > 0 {
        let count = text.len().min(room as usize - 1);
        // SAFETY: count + 1 bytes fit, as the caller promises.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), count);
            out.add(count).write(0);
        }
    }
    text.len() as i32
}
