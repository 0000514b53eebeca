//! NVRTC: programs that compile at once, to something small that is never run.
//!
//! PyTorch compiles some element-wise kernels while it runs (jiterator, the old fusers). It asks for
//! the code and for the names of the kernels in it, and gives both to the driver. Up to 2.11 it finds
//! the real library by file name and compiles for real, which works without a card.

use crate::answer::fresh_handle;
use crate::fill::put;
use crate::{alike, beside, say, succeed};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard};

/// A program: the names asked for, which must stay where they are until it is destroyed.
type Program = HashMap<CString, CString>;

static PROGRAMS: LazyLock<Mutex<HashMap<usize, Program>>> = LazyLock::new(Mutex::default);

fn programs() -> MutexGuard<'static, HashMap<usize, Program>> {
    PROGRAMS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What every program compiles to: well-formed PTX without a kernel. The ghost's driver does not look inside.
const CODE: &CStr = c".version 7.0\n.target sm_50\n.address_size 64\n";

succeed! { nvrtcAddNameExpression nvrtcCompileProgram }

alike! {
    [nvrtcCreateProgram]
    (out: *mut usize, _source: usize, _name: usize, _headers: i32)
    {
        let program = fresh_handle();
        programs().insert(program, Program::new());
        put(out, program);
    }
}

alike! {
    [nvrtcDestroyProgram]
    (program: *mut usize)
    {
        if let Some(handle) = program.as_ref() {
            programs().remove(handle);
        }
        put(program, 0);
    }
}

alike! { [nvrtcGetCUBINSize nvrtcGetPTXSize] (_program: usize, bytes: *mut usize) { put(bytes, code().len()); } }
alike! {
    [nvrtcGetCUBIN nvrtcGetPTX]
    (_program: usize, out: *mut u8)
    {
        if !out.is_null() {
            std::ptr::copy_nonoverlapping(code().as_ptr(), out, code().len());
        }
    }
}

/// The code with its end, as NVRTC counts it.
fn code() -> &'static [u8] {
    CODE.to_bytes_with_nul()
}

// The log is an empty string.
alike! { [nvrtcGetProgramLogSize] (_program: usize, bytes: *mut usize) { put(bytes, 1); } }
alike! { [nvrtcGetProgramLog] (_program: usize, out: *mut c_char) { put(out, 0); } }

/// `NVRTC_ERROR_INVALID_PROGRAM`.
const INVALID_PROGRAM: i32 = 4;

/// The name of a kernel in the compiled code: the same one, kept with its program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetLoweredName(program: usize, name: *const c_char, out: *mut *const c_char) -> i32 {
    if name.is_null() {
        return INVALID_PROGRAM;
    }
    // SAFETY: a C string, as documented.
    let name = unsafe { CStr::from_ptr(name) };
    say!("nvrtcGetLoweredName {}", name.to_string_lossy());
    let mut programs = programs();
    let Some(names) = programs.get_mut(&program) else { return INVALID_PROGRAM };
    let lowered = names.entry(name.to_owned()).or_insert_with(|| lower(name));
    // SAFETY: the documented out-parameter; the string's own memory does not move with the map.
    unsafe { put(out, lowered.as_ptr()) };
    0
}

/// An identifier made of an expression such as `kernel<float, 4>`.
fn lower(expression: &CStr) -> CString {
    let plain = |&byte: &u8| if byte.is_ascii_alphanumeric() { byte } else { b'_' };
    let name: Vec<u8> = b"_Z".iter().copied().chain(expression.to_bytes().iter().map(plain)).collect();
    CString::new(name).expect("only letters, digits and underscores")
}

/// The real library's version; the CUDA version's when it is not loaded.
fn version() -> (i32, i32) {
    let cuda = crate::card::cuda_version();
    let (mut major, mut minor) = (cuda / 1000, cuda % 1000 / 10);
    if let Some(symbol) = beside::symbol(&[c"libnvrtc.so.13", c"libnvrtc.so.12"], c"nvrtcVersion") {
        // SAFETY: the documented signature, nvrtcResult(int*, int*).
        unsafe {
            let ask = std::mem::transmute::<*mut c_void, extern "C" fn(*mut i32, *mut i32) -> i32>(symbol);
            ask(&mut major, &mut minor);
        }
    }
    (major, minor)
}

alike! {
    [nvrtcVersion]
    (major: *mut i32, minor: *mut i32)
    {
        let (our_major, our_minor) = version();
        put(major, our_major);
        put(minor, our_minor);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetErrorString(result: i32) -> *const c_char {
    match result {
        0 => c"NVRTC_SUCCESS",
        INVALID_PROGRAM => c"NVRTC_ERROR_INVALID_PROGRAM",
        _ => c"NVRTC_ERROR unknown",
    }
    .as_ptr()
}

/// `CUDA_ERROR_NOT_FOUND`.
const NO_SUCH_TABLE: i32 = 500;

/// The real NVRTC 13 asks the driver for its compile cache here, and goes without when told no; it
/// crashes when the name is missing. The tables behind this call are not documented, so there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetExportTable(table: *mut usize, _id: usize) -> i32 {
    say!("cuGetExportTable: none");
    // SAFETY: an out-parameter.
    unsafe { put(table, 0) };
    NO_SUCH_TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lowered_name_stays_where_it_is() {
        let mut program = 0;
        let (mut first, mut again) = (std::ptr::null(), std::ptr::null());
        // SAFETY: the pointers are to locals, the name is a C string.
        unsafe {
            nvrtcCreateProgram(&mut program, 0, 0, 0);
            nvrtcGetLoweredName(program, c"kernel<float, 4>".as_ptr(), &mut first);
            for i in 0..100 {
                let other = CString::new(format!("other{i}")).unwrap();
                nvrtcGetLoweredName(program, other.as_ptr(), &mut again);
            }
            nvrtcGetLoweredName(program, c"kernel<float, 4>".as_ptr(), &mut again);
            assert_eq!(first, again);
            assert_eq!(CStr::from_ptr(first), c"_Zkernel_float__4_");
            nvrtcDestroyProgram(&mut program);
        }
        assert_eq!(program, 0);
    }

    #[test]
    fn code_is_as_long_as_it_says() {
        let mut bytes = 0;
        // SAFETY: the pointers are to locals; the buffer is as long as was asked for.
        unsafe {
            nvrtcGetPTXSize(0, &mut bytes);
            let mut code = vec![1_u8; bytes];
            nvrtcGetPTX(0, code.as_mut_ptr());
            assert_eq!(code.last(), Some(&0));
        }
    }
}
