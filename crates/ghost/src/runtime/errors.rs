//! Errors: the last one per thread, and their names.

use super::*;
use std::cell::Cell;
use std::ffi::{CStr, c_char};

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(SUCCESS) };
}

/// Remembers an error as `cudaGetLastError` wants it, and hands it through.
pub fn fail(code: i32) -> i32 {
    LAST.set(code);
    code
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> i32 {
    LAST.replace(SUCCESS)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> i32 {
    LAST.get()
}

/// Code, name and sentence, as the documentation of `cudaError_t` gives them.
const ERRORS: [(i32, &CStr, &CStr); 8] = [
    (SUCCESS, c"cudaSuccess", c"no error"),
    (INVALID_VALUE, c"cudaErrorInvalidValue", c"invalid argument"),
    (OUT_OF_MEMORY, c"cudaErrorMemoryAllocation", c"out of memory"),
    (98, c"cudaErrorInvalidDeviceFunction", c"invalid device function"),
    (209, c"cudaErrorNoKernelImageForDevice", c"no kernel image is available for execution on the device"),
    (NO_DEVICE, c"cudaErrorNoDevice", c"no CUDA-capable device is detected"),
    (INVALID_DEVICE, c"cudaErrorInvalidDevice", c"invalid device ordinal"),
    (NOT_SUPPORTED, c"cudaErrorNotSupported", c"operation not supported"),
];

fn entry(code: i32) -> (&'static CStr, &'static CStr) {
    let found = ERRORS.iter().find(|e| e.0 == code);
    found.map_or((c"cudaErrorUnknown", c"unknown error"), |e| (e.1, e.2))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(code: i32) -> *const c_char {
    entry(code).0.as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(code: i32) -> *const c_char {
    entry(code).1.as_ptr()
}
