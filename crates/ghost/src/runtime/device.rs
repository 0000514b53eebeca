//! Devices: how many, which one, what they can do.

use super::errors::fail;
use super::*;
use crate::fill::put;
use crate::{card, memory, succeed};
use std::ffi::c_char;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceCount(out: *mut i32) -> i32 {
    let count = card::device_count();
    unsafe { put(out, count) };
    if count == 0 { fail(NO_DEVICE) } else { SUCCESS }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDevice(out: *mut i32) -> i32 {
    unsafe { put(out, memory::current()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDevice(device: i32) -> i32 {
    crate::say!("cudaSetDevice {device}");
    if !memory::select(device) {
        return fail(INVALID_DEVICE);
    }
    // Since CUDA 12 this call creates the context.
    if memory::ensure_context(device) { SUCCESS } else { fail(OUT_OF_MEMORY) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetAttribute(out: *mut i32, attribute: i32, _device: i32) -> i32 {
    unsafe { put(out, card::card().attribute(attribute)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDriverGetVersion(out: *mut i32) -> i32 {
    unsafe { put(out, card::card().driver.max(card::cuda_version())) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaRuntimeGetVersion(out: *mut i32) -> i32 {
    unsafe { put(out, card::cuda_version()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceCanAccessPeer(out: *mut i32, device: i32, peer: i32) -> i32 {
    unsafe { put(out, i32::from(device != peer)) };
    SUCCESS
}

/// Tells the devices of one machine apart.
pub fn uuid(device: i32) -> [u8; 16] {
    let mut bytes = *b"oomph-ghost-gpu\0";
    bytes[15] = device as u8;
    bytes
}

/// Cards of one machine sit on buses of their own.
pub fn bus(card: &card::Card, device: i32) -> i32 {
    card.attribute(33) + device
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetPCIBusId(out: *mut c_char, room: i32, device: i32) -> i32 {
    let text = format!("0000:{:02X}:{:02X}.0\0", bus(card::card(), device), card::card().attribute(34));
    let count = text.len().min(room.max(0) as usize);
    // SAFETY: `out` has `room` bytes, and no more are written.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), out, count) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) -> i32 {
    // Both ends as an H200 reports them.
    unsafe {
        put(least, 0);
        put(greatest, -5);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetDefaultMemPool(out: *mut usize, device: i32) -> i32 {
    unsafe { put(out, 0x6057_9001_0000 + 16 * device as usize) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetLimit(out: *mut usize, _limit: i32) -> i32 {
    unsafe { put(out, 1024) };
    SUCCESS
}

succeed! {
    cudaDeviceEnablePeerAccess cudaDeviceDisablePeerAccess cudaDeviceSynchronize cudaDeviceReset
    cudaDeviceSetLimit cudaDeviceSetCacheConfig cudaProfilerStart cudaProfilerStop
    cudaDeviceGetGraphMemAttribute cudaDeviceSetGraphMemAttribute cudaInitDevice cudaSetDeviceFlags
    cudaIpcCloseMemHandle
}

crate::refuse_sharing! { fail(NOT_SUPPORTED) => cudaIpcGetMemHandle cudaIpcOpenMemHandle cudaIpcGetEventHandle cudaIpcOpenEventHandle }
