//! Device and host memory.

use super::errors::fail;
use super::*;
use crate::fill::put;
use crate::{memory, say, succeed};
use std::ffi::c_void;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMalloc(out: *mut usize, bytes: usize) -> i32 {
    let address = memory::allocate(bytes);
    say!("cudaMalloc {bytes} -> {address:x?}");
    match address {
        Some(address) => {
            unsafe { put(out, address) };
            SUCCESS
        }
        None => fail(OUT_OF_MEMORY),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocManaged(out: *mut usize, bytes: usize, _flags: u32) -> i32 {
    unsafe { cudaMalloc(out, bytes) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocAsync(out: *mut usize, bytes: usize, _stream: usize) -> i32 {
    unsafe { cudaMalloc(out, bytes) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocFromPoolAsync(out: *mut usize, bytes: usize, _pool: usize, _stream: usize) -> i32 {
    unsafe { cudaMalloc(out, bytes) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFree(address: usize) -> i32 {
    say!("cudaFree {address:x}");
    if address == 0 || memory::release(address) { SUCCESS } else { fail(INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeAsync(address: usize, _stream: usize) -> i32 {
    cudaFree(address)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> i32 {
    let (f, t) = memory::free_and_total(memory::current());
    unsafe {
        put(free, f as usize);
        put(total, t as usize);
    }
    SUCCESS
}

/// `cudaMemPoolAttribute` numbers that have a value here: reserved (current, high) and used (current, high).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemPoolGetAttribute(_pool: usize, attribute: i32, out: *mut u64) -> i32 {
    let device = memory::current();
    let value = match attribute {
        5 | 7 => memory::used(device),
        6 | 8 => memory::peak(device),
        _ => 0,
    };
    unsafe { put(out, value) };
    SUCCESS
}

succeed! { cudaMemPoolSetAccess cudaMemPoolSetAttribute cudaMemPoolTrimTo cudaMemPoolDestroy }
crate::hand_out! { cudaMemPoolCreate: 0 }

/// Pinned host memory is plain host memory.
fn host_memory(bytes: usize) -> *mut c_void {
    let mut at = std::ptr::null_mut();
    // SAFETY: posix_memalign writes `at` or fails; a page is a valid alignment.
    let failed = unsafe { libc::posix_memalign(&mut at, 4096, bytes.max(1)) };
    if failed == 0 { at } else { std::ptr::null_mut() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaHostAlloc(out: *mut *mut c_void, bytes: usize, _flags: u32) -> i32 {
    let at = host_memory(bytes);
    if at.is_null() {
        return fail(OUT_OF_MEMORY);
    }
    unsafe { put(out, at) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocHost(out: *mut *mut c_void, bytes: usize) -> i32 {
    unsafe { cudaHostAlloc(out, bytes, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFreeHost(at: *mut c_void) -> i32 {
    // SAFETY: `at` came from cudaHostAlloc above.
    unsafe { libc::free(at) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaHostGetDevicePointer(out: *mut *mut c_void, host: *mut c_void, _flags: u32) -> i32 {
    unsafe { put(out, host) };
    SUCCESS
}

succeed! { cudaHostRegister cudaHostUnregister cudaMemAdvise cudaMemPrefetchAsync }

/// `cudaPointerAttributes` (CUDA 12 and 13).
#[repr(C)]
pub struct PointerAttributes {
    kind: i32,
    device: i32,
    device_pointer: usize,
    host_pointer: usize,
}

const UNREGISTERED: i32 = 0;
const DEVICE: i32 = 2;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaPointerGetAttributes(out: *mut PointerAttributes, address: usize) -> i32 {
    let answer = match memory::device_of(address) {
        Some(device) => PointerAttributes { kind: DEVICE, device, device_pointer: address, host_pointer: 0 },
        None => PointerAttributes { kind: UNREGISTERED, device: -2, device_pointer: 0, host_pointer: address },
    };
    unsafe { put(out, answer) };
    SUCCESS
}
