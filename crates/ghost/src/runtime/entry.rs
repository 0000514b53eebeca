//! Driver functions by name: the runtime hands out our own.

use super::*;
use crate::fill::put;
use std::ffi::{CStr, c_char, c_void};

const FOUND: i32 = 0;
const NOT_FOUND: i32 = 1;

/// The exported function of this name, under its plain or its versioned name.
fn lookup(name: &CStr) -> *mut c_void {
    let text = name.to_string_lossy();
    ["", "_v2", "_v3"]
        .into_iter()
        .filter_map(|suffix| std::ffi::CString::new(format!("{text}{suffix}")).ok())
        // SAFETY: a C string, looked up among the symbols this process already has.
        .map(|full| unsafe { crate::lookup::symbol(libc::RTLD_DEFAULT, &full) })
        .find(|found| !found.is_null())
        .unwrap_or(std::ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDriverEntryPointByVersion(
    name: *const c_char,
    out: *mut *mut c_void,
    _version: u32,
    _flags: u64,
    status: *mut i32,
) -> i32 {
    // SAFETY: the documentation asks for a C string.
    let name = unsafe { CStr::from_ptr(name) };
    let found = lookup(name);
    if found.is_null() {
        crate::notes::note(format!("driver function {} is not known to the ghost", name.to_string_lossy()));
    }
    unsafe {
        put(out, found);
        put(status, if found.is_null() { NOT_FOUND } else { FOUND });
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDriverEntryPoint(
    name: *const c_char,
    out: *mut *mut c_void,
    flags: u64,
    status: *mut i32,
) -> i32 {
    unsafe { cudaGetDriverEntryPointByVersion(name, out, 0, flags, status) }
}
