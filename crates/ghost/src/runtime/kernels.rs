//! Kernels: registered, asked about, launched; never run.

use super::*;
use crate::fill::put;
use crate::{card, hand_out, say, succeed};
use std::cell::RefCell;

/// Three sizes of a grid or block, passed by value in C.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

thread_local! {
    /// `kernel<<<grid, block, shared, stream>>>` is compiled to a push, and a pop inside the stub.
    static CONFIGURATIONS: RefCell<Vec<(Dim3, Dim3, usize, usize)>> = const { RefCell::new(Vec::new()) };
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: usize) -> u32 {
    CONFIGURATIONS.with_borrow_mut(|stack| stack.push((grid, block, shared, stream)));
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut usize,
) -> i32 {
    let Some(top) = CONFIGURATIONS.with_borrow_mut(Vec::pop) else {
        return errors::fail(INVALID_VALUE);
    };
    unsafe {
        put(grid, top.0);
        put(block, top.1);
        put(shared, top.2);
        put(stream, top.3);
    }
    SUCCESS
}

/// The handle is a pointer that compiled code keeps and gives back, but may not look through.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(_binary: usize) -> *mut usize {
    Box::into_raw(Box::new(0))
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule() -> u8 {
    1
}

succeed! {
    __cudaRegisterFatBinaryEnd __cudaUnregisterFatBinary __cudaRegisterFunction __cudaRegisterVar
    __cudaRegisterManagedVar __cudaRegisterTexture __cudaRegisterSurface
    __cudaLaunchKernel cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel
    cudaFuncSetAttribute cudaFuncSetCacheConfig cudaFuncSetSharedMemConfig cudaKernelSetAttributeForDevice
    cudaLibraryUnload
}

hand_out! {
    cudaLibraryLoadData: 0 cudaLibraryLoadFromFile: 0 cudaLibraryGetKernel: 0 cudaLibraryGetUnifiedFunction: 0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLibraryGetKernelCount(out: *mut u32, _library: usize) -> i32 {
    unsafe { put(out, 1) };
    SUCCESS
}

/// Device variables of loaded libraries have no place on a ghost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLibraryGetGlobal(
    out: *mut usize,
    bytes: *mut usize,
    _library: usize,
    _name: usize,
) -> i32 {
    unsafe {
        put(out, 0);
        put(bytes, 0);
    }
    errors::fail(NOT_SUPPORTED)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLibraryGetManaged(out: *mut usize, bytes: *mut usize, library: usize, name: usize) -> i32 {
    unsafe { cudaLibraryGetGlobal(out, bytes, library, name) }
}

/// A kernel is named by its host stub, so the stub's address is as good a handle as any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaGetKernel(out: *mut usize, stub: usize) -> i32 {
    unsafe { put(out, stub) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetFuncBySymbol(out: *mut usize, stub: usize) -> i32 {
    unsafe { put(out, stub) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetSymbolAddress(out: *mut usize, symbol: usize) -> i32 {
    unsafe { put(out, symbol) };
    SUCCESS
}

/// The leading fields of `cudaFuncAttributes`; the rest are cluster settings, which are left unset.
#[repr(C)]
#[derive(Default)]
pub struct FunctionAttributes {
    shared_bytes: usize,
    constant_bytes: usize,
    local_bytes: usize,
    max_threads_per_block: i32,
    registers: i32,
    ptx_version: i32,
    binary_version: i32,
    cache_mode: i32,
    max_dynamic_shared_bytes: i32,
    preferred_carveout: i32,
    clusters: [i32; 6],
}

/// The architectures that PyTorch's kernels are compiled for (`torch.cuda.get_arch_list()`, wheels 2.6 to 2.15).
const COMPILED: [i32; 9] = [50, 60, 70, 75, 80, 86, 90, 100, 120];

/// What a card of this compute capability runs: the nearest code below its own. CUB looks for that exact number.
fn compiled_for(capability: i32) -> i32 {
    COMPILED.into_iter().rfind(|&compiled| compiled <= capability).unwrap_or(capability)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFuncGetAttributes(out: *mut FunctionAttributes, _function: usize) -> i32 {
    let card = card::card();
    let version = compiled_for(card.major * 10 + card.minor);
    let answer = FunctionAttributes {
        max_threads_per_block: 1024,
        registers: 32,
        ptx_version: version,
        binary_version: version,
        max_dynamic_shared_bytes: card.attribute(97),
        ..Default::default()
    };
    unsafe { put(out, answer) };
    SUCCESS
}

/// Without the kernel's registers at hand, only threads and blocks limit residency.
pub fn resident_blocks(block_size: i32) -> i32 {
    let card = card::card();
    (card.attribute(39) / block_size.max(1)).clamp(1, card.attribute(106).max(1))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    out: *mut i32,
    _function: usize,
    block_size: i32,
    _shared: usize,
) -> i32 {
    say!("occupancy of {block_size} threads");
    unsafe { put(out, resident_blocks(block_size)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    out: *mut i32,
    function: usize,
    block_size: i32,
    shared: usize,
    _flags: u32,
) -> i32 {
    unsafe { cudaOccupancyMaxActiveBlocksPerMultiprocessor(out, function, block_size, shared) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxActiveClusters(out: *mut i32) -> i32 {
    unsafe { put(out, 1) };
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::compiled_for;

    #[test]
    fn a_card_runs_the_nearest_code_below_its_own() {
        assert_eq!(compiled_for(90), 90);
        assert_eq!(compiled_for(89), 86);
        assert_eq!(compiled_for(61), 60);
        assert_eq!(compiled_for(121), 120);
    }
}
