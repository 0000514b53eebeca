//! `dlsym`, so that cuDNN finds our cuBLASLt.
//!
//! cuDNN opens the real cuBLASLt by itself and asks it, function by function, whether a product can
//! be done; without a device that library says no, and cuDNN's list of engines comes out short. Names
//! that begin with `cublasLt` are therefore answered with our functions. Every other look-up goes on
//! to the C library with a jump, which keeps the caller's address: `RTLD_NEXT` depends on it.

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The C library's `dlsym`.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

type Lookup = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

fn real() -> *mut c_void {
    let known = REAL.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let found = [c"GLIBC_2.34", c"GLIBC_2.2.5", c"GLIBC_2.17"]
        .into_iter()
        // SAFETY: C strings; the search begins behind this library, so it does not find itself.
        .map(|version| unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) })
        .find(|found| !found.is_null())
        .unwrap_or(std::ptr::null_mut());
    REAL.store(found, Ordering::Release);
    found
}

/// A symbol as the C library finds it; for our own look-ups.
///
/// # Safety
/// `handle` is a loader handle or one of the loader's constants.
pub unsafe fn symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    let real = real();
    if real.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: it is dlsym, found by its name.
    unsafe { std::mem::transmute::<*mut c_void, Lookup>(real)(handle, name.as_ptr()) }
}

/// Our function for a name, or null where the C library should answer. Makes sure that `REAL` is known.
unsafe extern "C" fn ours(_handle: *mut c_void, name: *const c_char) -> *mut c_void {
    real();
    if name.is_null() || crate::card::present().is_none() {
        return std::ptr::null_mut();
    }
    // SAFETY: dlsym's contract asks for a C string.
    let name = unsafe { CStr::from_ptr(name) };
    if !name.to_bytes().starts_with(b"cublasLt") {
        return std::ptr::null_mut();
    }
    // SAFETY: a preloaded library comes first in the global scope, so this finds our own.
    unsafe { symbol(libc::RTLD_DEFAULT, name) }
}

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {ours}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jne 2f",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        "2: ret",
        ours = sym ours,
        real = sym REAL,
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "bl {ours}",
        "mov x9, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "cbz x9, 2f",
        "mov x0, x9",
        "ret",
        "2: adrp x9, {real}",
        "ldr x9, [x9, :lo12:{real}]",
        "br x9",
        ours = sym ours,
        real = sym REAL,
    )
}
