//! Driver virtual memory: addresses, physical memory and the maps between, as `expandable_segments` uses them.

use crate::answer::fresh_handle;
use crate::fill::put;
use crate::memory::{self, GRANULE};
use crate::runtime::SUCCESS;
use crate::{say, succeed};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard};

const OUT_OF_MEMORY: i32 = 2;
const INVALID_VALUE: i32 = 1;
const NOT_SUPPORTED: i32 = 801;

/// One piece of physical memory. It lives until it is released and mapped nowhere, as the driver keeps it.
struct Physical {
    device: i32,
    bytes: u64,
    held: bool,
    maps: u32,
}

#[derive(Default)]
struct Pieces {
    by_handle: HashMap<usize, Physical>,
    /// Start of a mapping to the piece mapped there.
    mapped: HashMap<u64, usize>,
}

static PIECES: LazyLock<Mutex<Pieces>> = LazyLock::new(Mutex::default);

fn pieces() -> MutexGuard<'static, Pieces> {
    PIECES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Pieces {
    fn drop_if_unused(&mut self, handle: usize) {
        let Some(piece) = self.by_handle.get(&handle) else { return };
        if !piece.held && piece.maps == 0 {
            memory::give_back_physical(piece.device, piece.bytes);
            self.by_handle.remove(&handle);
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAllocationGranularity(out: *mut usize) -> i32 {
    unsafe { put(out, GRANULE as usize) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAddressReserve(out: *mut u64, bytes: usize) -> i32 {
    say!("cuMemAddressReserve {bytes}");
    match memory::reserve_addresses(bytes as u64) {
        Some(address) => {
            unsafe { put(out, address) };
            SUCCESS
        }
        None => OUT_OF_MEMORY,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAddressFree(address: u64, _bytes: usize) -> i32 {
    memory::free_addresses(address);
    SUCCESS
}

/// The documented start of `CUmemAllocationProp`: kind, handle types, then the place (kind, device).
#[repr(C)]
pub struct Placement {
    kind: i32,
    handle_types: i32,
    place_kind: i32,
    device: i32,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemCreate(out: *mut usize, bytes: usize, placement: *const Placement, _flags: u64) -> i32 {
    // SAFETY: the documentation asks for a valid structure; a null one means the current device here.
    let device = unsafe { placement.as_ref() }.map_or_else(memory::current, |p| p.device);
    if !memory::take_physical(device, bytes as u64) {
        say!("cuMemCreate {bytes}: full");
        return OUT_OF_MEMORY;
    }
    let handle = fresh_handle();
    let piece = Physical { device, bytes: bytes as u64, held: true, maps: 0 };
    pieces().by_handle.insert(handle, piece);
    unsafe { put(out, handle) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemRelease(handle: usize) -> i32 {
    let mut pieces = pieces();
    let Some(piece) = pieces.by_handle.get_mut(&handle) else { return INVALID_VALUE };
    piece.held = false;
    pieces.drop_if_unused(handle);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemMap(address: u64, _bytes: usize, _offset: usize, handle: usize, _flags: u64) -> i32 {
    let mut pieces = pieces();
    let Some(piece) = pieces.by_handle.get_mut(&handle) else { return INVALID_VALUE };
    piece.maps += 1;
    pieces.mapped.insert(address, handle);
    SUCCESS
}

/// Unmaps every piece that was mapped inside the range.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemUnmap(address: u64, bytes: usize) -> i32 {
    let mut pieces = pieces();
    let range = address..address + bytes as u64;
    let starts: Vec<u64> = pieces.mapped.keys().copied().filter(|at| range.contains(at)).collect();
    for start in starts {
        let Some(handle) = pieces.mapped.remove(&start) else { continue };
        if let Some(piece) = pieces.by_handle.get_mut(&handle) {
            piece.maps -= 1;
        }
        pieces.drop_if_unused(handle);
    }
    crate::known::forget(address, bytes as u64);
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemRetainAllocationHandle(out: *mut usize, address: u64) -> i32 {
    let Some(handle) = pieces().mapped.get(&address).copied() else { return INVALID_VALUE };
    unsafe { put(out, handle) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAddressRange_v2(start: *mut u64, bytes: *mut usize, address: u64) -> i32 {
    unsafe {
        put(start, address);
        put(bytes, GRANULE as usize);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAllocationPropertiesFromHandle(out: *mut Placement, handle: usize) -> i32 {
    let Some(device) = pieces().by_handle.get(&handle).map(|piece| piece.device) else { return INVALID_VALUE };
    unsafe { put(out, Placement { kind: 1, handle_types: 0, place_kind: 1, device }) };
    SUCCESS
}

succeed! { cuMemSetAccess }

crate::refuse_sharing! { NOT_SUPPORTED =>
    cuMemExportToShareableHandle cuMemImportFromShareableHandle
    cuMulticastCreate cuMulticastAddDevice cuMulticastBindMem cuMulticastUnbind
}
