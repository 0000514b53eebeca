//! NCCL: communicators that know their size and rank. What they carry is in [`collectives`]
//! and [`groups`].
//!
//! No rank waits for another: each process sees its own device's memory, which is what is asked.

mod collectives;
mod groups;
mod tables;

use crate::answer::fresh_handle;
use crate::fill::{put, zero};
use crate::{alike, beside, memory, say};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard};

/// What a communicator was made with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Communicator {
    ranks: i32,
    rank: i32,
    device: i32,
}

static COMMUNICATORS: LazyLock<Mutex<HashMap<usize, Communicator>>> = LazyLock::new(Mutex::default);

fn communicators() -> MutexGuard<'static, HashMap<usize, Communicator>> {
    COMMUNICATORS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A communicator that nobody made is a lonely one.
fn communicator(handle: usize) -> Communicator {
    communicators().get(&handle).copied().unwrap_or(Communicator { ranks: 1, rank: 0, device: 0 })
}

fn join(ranks: i32, rank: i32, device: i32) -> usize {
    let handle = fresh_handle();
    say!("nccl communicator {handle:#x}: rank {rank} of {ranks} on device {device}");
    communicators().insert(handle, Communicator { ranks, rank, device });
    handle
}

/// `ncclUniqueId`, passed by value.
#[repr(C)]
pub struct UniqueId([u8; 128]);

alike! {
    [ncclCommInitRank ncclCommInitRankConfig]
    (out: *mut usize, ranks: i32, _id: UniqueId, rank: i32, _config: usize)
    { put(out, join(ranks, rank, memory::current())); }
}
alike! {
    [ncclCommInitRankScalable]
    (out: *mut usize, ranks: i32, rank: i32, _ids_given: i32, _ids: usize, _config: usize)
    { put(out, join(ranks, rank, memory::current())); }
}

// One process, several devices: a communicator each. Without a list, the first devices are meant.
alike! {
    [ncclCommInitAll]
    (out: *mut usize, devices: i32, list: *const i32)
    {
        for rank in 0..devices.max(0) {
            let device = if list.is_null() { rank } else { *list.add(rank as usize) };
            put(out.add(rank as usize), join(devices, rank, device));
        }
    }
}

// A part of a communicator. How many others chose the same colour is not known here; all is the most.
// A negative colour asks for none.
alike! {
    [ncclCommSplit]
    (parent: usize, colour: i32, key: i32, out: *mut usize, _config: usize)
    {
        let whole = communicator(parent);
        put(out, if colour < 0 { 0 } else { join(whole.ranks, key, whole.device) });
    }
}
alike! {
    [ncclCommShrink]
    (parent: usize, _excluded: usize, count: i32, out: *mut usize, _config: usize, _flags: i32)
    {
        let whole = communicator(parent);
        let ranks = (whole.ranks - count).max(1);
        put(out, join(ranks, whole.rank.min(ranks - 1), whole.device));
    }
}
alike! {
    [ncclCommGrow]
    (_parent: usize, ranks: i32, _id: usize, rank: i32, out: *mut usize, _config: usize)
    { put(out, join(ranks, rank, memory::current())); }
}

alike! { [ncclCommAbort ncclCommDestroy] (handle: usize) { communicators().remove(&handle); } }
alike! { [ncclCommCount] (handle: usize, out: *mut i32) { put(out, communicator(handle).ranks); } }
alike! { [ncclCommUserRank] (handle: usize, out: *mut i32) { put(out, communicator(handle).rank); } }
alike! { [ncclCommCuDevice] (handle: usize, out: *mut i32) { put(out, communicator(handle).device); } }
alike! { [ncclCommGetAsyncError] (_handle: usize, out: *mut i32) { put(out, 0); } }
alike! { [ncclCommMemStats] (_handle: usize, _which: i32, out: *mut u64) { put(out, 0); } }

/// An id that differs between processes and calls; PyTorch only passes it around.
fn unique_id() -> UniqueId {
    let mut id = [b'o'; 128];
    id[..8].copy_from_slice(&(fresh_handle() as u64).to_ne_bytes());
    id[8..12].copy_from_slice(&std::process::id().to_ne_bytes());
    UniqueId(id)
}

alike! { [ncclGetUniqueId] (out: *mut UniqueId) { put(out, unique_id()); } }
alike! { [ncclCommGetUniqueId] (_handle: usize, out: *mut UniqueId) { put(out, unique_id()); } }

/// The real library's version, which PyTorch compares features by; 2.28.9 when it is not loaded.
fn version() -> i32 {
    let mut version = 22809;
    if let Some(symbol) = beside::symbol(&[c"libnccl.so.2"], c"ncclGetVersion") {
        // SAFETY: the documented signature, ncclResult_t(int*).
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(*mut i32) -> i32>(symbol)(&mut version) };
    }
    version
}

alike! { [ncclGetVersion] (out: *mut i32) { put(out, version()); } }

/// `ncclUnhandledCudaError`, as NCCL reports a full card.
const CUDA_ERROR: i32 = 1;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclMemAlloc(out: *mut usize, bytes: usize) -> i32 {
    let address = memory::allocate(bytes);
    say!("ncclMemAlloc {bytes} -> {address:x?}");
    // SAFETY: the documented out-parameter.
    unsafe { put(out, address.unwrap_or(0)) };
    if address.is_some() { 0 } else { CUDA_ERROR }
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclMemFree(address: usize) -> i32 {
    say!("ncclMemFree {address:#x}");
    if address != 0 {
        memory::release(address);
    }
    0
}

/// The memory behind each registered window.
static WINDOWS: LazyLock<Mutex<HashMap<usize, usize>>> = LazyLock::new(Mutex::default);

fn windows() -> MutexGuard<'static, HashMap<usize, usize>> {
    WINDOWS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn behind(window: usize) -> usize {
    windows().get(&window).copied().unwrap_or(0)
}

alike! {
    [ncclCommWindowRegister]
    (_handle: usize, buffer: usize, _bytes: usize, window: *mut usize, _flags: i32)
    {
        let fresh = fresh_handle();
        windows().insert(fresh, buffer);
        put(window, fresh);
    }
}
alike! { [ncclCommWindowDeregister] (_handle: usize, window: usize) { windows().remove(&window); } }
alike! { [ncclWinGetUserPtr] (_handle: usize, window: usize, out: *mut usize) { put(out, behind(window)); } }
// The peers' memory looks like our own; there is no multicast address.
alike! {
    [ncclGetPeerDevicePointer]
    (window: usize, offset: usize, _peer: i32, out: *mut usize)
    { put(out, behind(window) + offset); }
}
alike! { [ncclGetLsaMultimemDevicePointer] (_window: usize, _offset: usize, out: *mut usize) { put(out, 0); } }

/// `ncclInvalidUsage`.
const INVALID_USAGE: i32 = 5;

/// The device-side communicator is a structure of NCCL's own that changes with each version.
#[unsafe(no_mangle)]
pub extern "C" fn ncclDevCommCreate() -> i32 {
    crate::notes::note("NCCL device communicators are not answered");
    INVALID_USAGE
}

// `ncclSimInfo_t`: the estimated time is a float behind size, magic and version.
alike! { [ncclGroupSimulateEnd] (info: usize) { if info != 0 { zero(info + 16, size_of::<f32>()); } } }

/// The documented meaning of a result.
fn result_text(result: i32) -> &'static CStr {
    match result {
        0 => c"no error",
        1 => c"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        2 => c"unhandled system error (run with NCCL_DEBUG=INFO for details)",
        3 => c"internal error - please report this issue to the NCCL developers",
        4 => c"invalid argument (run with NCCL_DEBUG=WARN for details)",
        5 => c"invalid usage (run with NCCL_DEBUG=WARN for details)",
        6 => c"remote process exited or there was a network error",
        7 => c"NCCL operation in progress",
        _ => c"unknown result code",
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetErrorString(result: i32) -> *const c_char {
    result_text(result).as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetLastError(_handle: usize) -> *const c_char {
    c"".as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_communicator_remembers_its_rank_behind_an_id_passed_by_value() {
        let (mut handle, mut ranks, mut rank) = (0, 0, 0);
        // SAFETY: the pointers are to locals.
        unsafe {
            ncclCommInitRankConfig(&mut handle, 8, unique_id(), 5, 0);
            ncclCommCount(handle, &mut ranks);
            ncclCommUserRank(handle, &mut rank);
            ncclCommDestroy(handle);
        }
        assert_eq!((ranks, rank), (8, 5));
        assert!(!communicators().contains_key(&handle));
    }

    #[test]
    fn a_negative_colour_joins_nothing() {
        let mut part = usize::MAX;
        // SAFETY: the pointer is to a local.
        unsafe { ncclCommSplit(0, -1, 0, &mut part, 0) };
        assert_eq!(part, 0);
    }

    #[test]
    fn ids_differ() {
        assert_ne!(unique_id().0, unique_id().0);
    }
}
