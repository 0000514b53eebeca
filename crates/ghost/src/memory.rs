//! Device memory: addresses without memory behind them, and a card that can be full.
//!
//! Each device owns a reserved, inaccessible range of the process's address space. Where an
//! allocation lands in it follows what an H200 with driver 580 was seen to do: address space is
//! taken in chunks of 32 MiB, downwards, and what a chunk has left over serves later requests,
//! newest chunk first. PyTorch up to 2.11 breaks ties between equally large free blocks by address,
//! so the order matters.

mod space;

use crate::card::{self, MAX_DEVICES};
use space::Space;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard};

/// Physical memory is handed out in these units (`cuMemGetAllocationGranularity` on every card since Pascal).
pub const GRANULE: u64 = 2 << 20;

/// One device: its addresses and how full it is.
struct Device {
    space: Space,
    used: u64,
    peak: u64,
    has_context: bool,
    has_libraries: bool,
}

impl Device {
    fn new() -> Device {
        Device { space: Space::reserve(), used: 0, peak: 0, has_context: false, has_libraries: false }
    }

    fn take(&mut self, bytes: u64) -> bool {
        if self.used + bytes > card::card().total_bytes && !NEVER_FULL.load(Ordering::Relaxed) {
            return false;
        }
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        true
    }

    fn give_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }
}

static NEVER_FULL: AtomicBool = AtomicBool::new(false);

/// Allocations always succeed from here on: a twin must not run out of memory before its original.
pub fn never_full() {
    NEVER_FULL.store(true, Ordering::Relaxed);
}

static DEVICES: LazyLock<Vec<Mutex<Option<Device>>>> =
    LazyLock::new(|| (0..MAX_DEVICES).map(|_| Mutex::new(None)).collect());

thread_local! {
    /// CUDA keeps the current device per thread.
    static CURRENT: Cell<i32> = const { Cell::new(0) };
}

/// The calling thread's device.
pub fn current() -> i32 {
    CURRENT.get()
}

/// Makes a device current in the calling thread; false if there is no such device.
pub fn select(device: i32) -> bool {
    let exists = (0..card::device_count()).contains(&device);
    if exists {
        CURRENT.set(device);
    }
    exists
}

fn with<T>(device: i32, act: impl FnOnce(&mut Device) -> T) -> T {
    let mut slot = lock(&DEVICES[device.clamp(0, MAX_DEVICES - 1) as usize]);
    act(slot.get_or_insert_with(Device::new))
}

/// A poisoned lock is still a lock: the state is plain numbers, whole after every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The device's context exists from here on, and holds what a context holds. False if it does not fit.
pub fn ensure_context(device: i32) -> bool {
    with(device, |d| {
        if !d.has_context {
            d.has_context = d.take(card::card().context_bytes);
        }
        d.has_context
    })
}

/// cuBLAS or cuDNN loaded their kernels: they hold memory outside the allocator too.
pub fn ensure_libraries() {
    let device = current();
    ensure_context(device);
    with(device, |d| {
        if !d.has_libraries {
            d.has_libraries = true;
            // A full card keeps its kernels on the host until they are needed; it does not fail here.
            d.take(card::card().library_bytes);
        }
    });
}

fn whole_granules(bytes: u64) -> u64 {
    bytes.div_ceil(GRANULE) * GRANULE
}

/// `cudaMalloc` on the current device: an address, or nothing when the card is full.
pub fn allocate(bytes: usize) -> Option<usize> {
    let device = current();
    if !ensure_context(device) {
        return None;
    }
    let bytes = whole_granules((bytes as u64).max(1));
    with(device, |d| {
        if !d.take(bytes) {
            return None;
        }
        let address = d.space.place(bytes);
        if address.is_none() {
            d.give_back(bytes);
        }
        address.map(|a| a as usize)
    })
}

/// `cudaFree`: false if the address was never handed out.
pub fn release(address: usize) -> bool {
    let Some(device) = device_of(address) else { return false };
    with(device, |d| match d.space.free(address as u64) {
        Some(bytes) => {
            d.give_back(bytes);
            crate::known::forget(address as u64, bytes);
            true
        }
        None => false,
    })
}

/// The device whose range holds this address.
pub fn device_of(address: usize) -> Option<i32> {
    (0..card::device_count()).find(|&device| {
        let slot = lock(&DEVICES[device as usize]);
        slot.as_ref().is_some_and(|d| d.space.contains(address as u64))
    })
}

/// Address space only, for driver virtual memory.
pub fn reserve_addresses(bytes: u64) -> Option<u64> {
    with(current(), |d| d.space.place(bytes))
}

/// Gives address space back.
pub fn free_addresses(address: u64) {
    if let Some(device) = device_of(address as usize) {
        with(device, |d| d.space.free(address));
    }
}

/// Physical memory only, for driver virtual memory. False when the card is full.
pub fn take_physical(device: i32, bytes: u64) -> bool {
    ensure_context(device) && with(device, |d| d.take(whole_granules(bytes)))
}

/// Gives physical memory back.
pub fn give_back_physical(device: i32, bytes: u64) {
    with(device, |d| d.give_back(whole_granules(bytes)));
}

/// Bytes in use on the device, the context's included.
pub fn used(device: i32) -> u64 {
    with(device, |d| d.used)
}

/// The most that was ever in use on the device.
pub fn peak(device: i32) -> u64 {
    with(device, |d| d.peak)
}

/// Free and total, as `cudaMemGetInfo` answers.
pub fn free_and_total(device: i32) -> (u64, u64) {
    ensure_context(device);
    let total = card::card().total_bytes;
    (total.saturating_sub(used(device)), total)
}
