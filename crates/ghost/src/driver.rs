//! The CUDA driver API (`libcuda`): contexts, modules and launches. Virtual memory is in [`virtual_memory`].
//!
//! `cuGetProcAddress` is absent on purpose. NVIDIA's static runtime, which cuDNN carries, takes it as
//! a sign of a full driver and goes on into undocumented tables; without it, it falls back cleanly.

mod virtual_memory;

use crate::fill::put;
use crate::runtime::kernels::resident_blocks;
use crate::runtime::{SUCCESS, copies, memory as runtime_memory, streams};
use crate::{card, hand_out, memory, succeed};
use std::ffi::c_char;

/// Contexts are named by their device; a handle must not be null.
const CONTEXT: usize = 0x6057_c000_0000;

fn context_of(device: i32) -> usize {
    CONTEXT + 64 * device as usize
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_flags: u32) -> i32 {
    const NO_DEVICE: i32 = 100;
    if card::present().is_some() { SUCCESS } else { NO_DEVICE }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(out: *mut i32) -> i32 {
    unsafe { crate::runtime::device::cudaDriverGetVersion(out) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(out: *mut i32) -> i32 {
    unsafe { put(out, card::device_count()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(out: *mut i32, ordinal: i32) -> i32 {
    unsafe { put(out, ordinal) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(out: *mut c_char, room: i32, _device: i32) -> i32 {
    let name = &card::card().name;
    let count = name.len().min(room.max(1) as usize - 1);
    // SAFETY: `out` has `room` bytes; count + 1 are written.
    unsafe {
        std::ptr::copy_nonoverlapping(name.as_ptr().cast(), out, count);
        out.add(count).write(0);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(out: *mut i32, attribute: i32, _device: i32) -> i32 {
    unsafe { put(out, card::card().attribute(attribute)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(out: *mut usize, _device: i32) -> i32 {
    unsafe { put(out, card::card().total_bytes as usize) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxGetState(_device: i32, flags: *mut u32, active: *mut i32) -> i32 {
    unsafe {
        put(flags, 0);
        put(active, 1);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(out: *mut usize, device: i32) -> i32 {
    unsafe { put(out, context_of(device)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(out: *mut usize) -> i32 {
    unsafe { put(out, context_of(memory::current())) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(out: *mut usize) -> i32 {
    unsafe { cuCtxGetCurrent(out) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: usize) -> i32 {
    if context >= CONTEXT {
        memory::select(((context - CONTEXT) / 64) as i32);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(out: *mut i32) -> i32 {
    unsafe { put(out, memory::current()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetLimit(out: *mut usize, _limit: i32) -> i32 {
    unsafe { put(out, 1024) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: i32, out: *mut *const c_char) -> i32 {
    unsafe { put(out, crate::runtime::errors::cudaGetErrorString(code)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: i32, out: *mut *const c_char) -> i32 {
    unsafe { put(out, crate::runtime::errors::cudaGetErrorName(code)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> i32 {
    unsafe { runtime_memory::cudaMemGetInfo(free, total) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(out: *mut usize, bytes: usize) -> i32 {
    unsafe { runtime_memory::cudaMalloc(out, bytes) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: usize) -> i32 {
    runtime_memory::cudaFree(address)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: usize, from: usize, bytes: usize) -> i32 {
    unsafe { copies::transfer(to, from, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: usize, from: usize, bytes: usize) -> i32 {
    unsafe { copies::transfer(to, from, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyAsync(to: usize, from: usize, bytes: usize, _stream: usize) -> i32 {
    unsafe { copies::transfer(to, from, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD32Async(address: usize, value: u32, count: usize, _stream: usize) -> i32 {
    copies::fill(address, &value.to_ne_bytes(), count * 4);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(address: usize, value: u8, count: usize, _stream: usize) -> i32 {
    copies::fill(address, &[value], count);
    SUCCESS
}

/// `CU_POINTER_ATTRIBUTE_*` numbers that programs ask for: context 1, memory type 2, device pointer 3, ordinal 9.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttribute(out: *mut u64, attribute: i32, address: usize) -> i32 {
    const INVALID_VALUE: i32 = 1;
    const ON_DEVICE: i32 = 2;
    let Some(device) = memory::device_of(address) else { return INVALID_VALUE };
    unsafe {
        match attribute {
            1 => put(out, context_of(device) as u64),
            2 => put(out.cast::<i32>(), ON_DEVICE),
            3 => put(out, address as u64),
            9 => put(out.cast::<i32>(), device),
            _ => return INVALID_VALUE,
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamIsCapturing(stream: usize, out: *mut i32) -> i32 {
    unsafe { streams::cudaStreamIsCapturing(stream, out) }
}

/// cuDNN's runtime-compiled engines look these up by their plain names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent(out: *mut usize) -> i32 {
    unsafe { cuCtxGetCurrent(out) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetCtx(_stream: usize, out: *mut usize) -> i32 {
    unsafe { cuCtxGetCurrent(out) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetAttribute(out: *mut i32, attribute: i32, kernel: usize, _device: i32) -> i32 {
    unsafe { cuFuncGetAttribute(out, attribute, kernel) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialClusterSize(out: *mut i32) -> i32 {
    crate::log::call("cuOccupancyMaxPotentialClusterSize");
    unsafe { put(out, 8) };
    SUCCESS
}

hand_out! {
    cuLibraryLoadFromFile: 0 cuLinkCreate: 3
    cuModuleLoad: 0 cuModuleLoadData: 0 cuModuleLoadDataEx: 0 cuModuleLoadFatBinary: 0
    cuModuleGetFunction: 0 cuLibraryLoadData: 0 cuLibraryGetKernel: 0 cuLibraryGetModule: 0
    cuKernelGetFunction: 0 cuLinkCreate_v2: 3
    cuStreamCreate: 0 cuStreamCreateWithPriority: 0 cuEventCreate: 0
    cuGreenCtxCreate: 0 cuCtxFromGreenCtx: 0 cuGreenCtxStreamCreate: 0 cuDevResourceGenerateDesc: 0
}

succeed! {
    cuKernelSetAttribute cuLinkAddData cuCtxPushCurrent
    cuModuleUnload cuLibraryUnload cuLinkAddData_v2 cuLinkDestroy
    cuLaunchKernel cuLaunchKernelEx cuLaunchCooperativeKernel
    cuFuncSetAttribute cuFuncSetCacheConfig
    cuCtxPushCurrent_v2 cuCtxSynchronize cuCtxSetLimit cuDevicePrimaryCtxRelease_v2
    cuCtxEnablePeerAccess cuGreenCtxDestroy cuDeviceGetDevResource cuDevSmResourceSplitByCount
    cuStreamSynchronize cuStreamQuery cuStreamWaitEvent cuStreamDestroy_v2
    cuStreamWriteValue32 cuStreamWriteValue32_v2
    cuEventRecord cuEventQuery cuEventSynchronize cuEventDestroy_v2
    cuTensorMapEncodeTiled cuLogsRegisterCallback cuLogsUnregisterCallback
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkComplete(_link: usize, image: *mut usize, bytes: *mut usize) -> i32 {
    static EMPTY: [u8; 8] = [0; 8];
    unsafe {
        put(image, EMPTY.as_ptr() as usize);
        put(bytes, EMPTY.len());
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(out: *mut usize, bytes: *mut usize) -> i32 {
    const NOT_FOUND: i32 = 500;
    unsafe {
        put(out, 0);
        put(bytes, 0);
    }
    NOT_FOUND
}

/// `CU_FUNC_ATTRIBUTE_*`: 0 is the largest block, 4 the registers; shared, constant and local bytes are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(out: *mut i32, attribute: i32, _function: usize) -> i32 {
    let value = match attribute {
        0 => 1024,
        4 => 32,
        _ => 0,
    };
    unsafe { put(out, value) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    out: *mut i32,
    _function: usize,
    block_size: i32,
    _shared: usize,
) -> i32 {
    crate::say!("cuOccupancyMaxActiveBlocksPerMultiprocessor {block_size}");
    unsafe { put(out, resident_blocks(block_size)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveClusters(out: *mut i32) -> i32 {
    crate::log::call("cuOccupancyMaxActiveClusters");
    unsafe { put(out, 1) };
    SUCCESS
}
