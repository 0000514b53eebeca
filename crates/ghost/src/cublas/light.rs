//! cuBLASLt: one algorithm for every product.

use crate::answer::fresh_handle;
use crate::fill::{put, zero};
use crate::{alike, beside, hand_out, memory, say, succeed};

// Descriptors: created, set up, thrown away.
hand_out! {
    cublasLtMatmulDescCreate: 0
    cublasLtMatmulPreferenceCreate: 0
    cublasLtMatrixLayoutCreate: 0
    cublasLtMatrixTransformDescCreate: 0
}
succeed! {
    cublasLtDestroy
    cublasLtMatmulDescDestroy
    cublasLtMatmulDescSetAttribute
    cublasLtMatmulPreferenceDestroy
    cublasLtMatmulPreferenceSetAttribute
    cublasLtMatrixLayoutDestroy
    cublasLtMatrixLayoutSetAttribute
    cublasLtMatrixTransformDescDestroy
    cublasLtMatrixTransformDescSetAttribute
}
/// Descriptors that live in the caller's memory: the size comes second, and they begin as zeros.
macro_rules! begin_as_zeros {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(descriptor: usize, bytes: usize) -> i32 {
                // SAFETY: the header's inline functions pass the structure and its size.
                unsafe { zero(descriptor, bytes) };
                0
            }
        )*
    };
}

begin_as_zeros! {
    cublasLtMatmulDescInit_internal
    cublasLtMatmulPreferenceInit_internal
    cublasLtMatrixLayoutInit_internal
    cublasLtMatrixTransformDescInit_internal
}

/// The version's parts: 0 major, 1 minor, 2 patch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtGetProperty(part: i32, out: *mut i32) -> i32 {
    let version = version() as i32;
    let value = match part {
        0 => version / 10_000,
        1 => version / 100 % 100,
        _ => version % 100,
    };
    // SAFETY: the documented out-parameter.
    unsafe { put(out, value) };
    0
}

// The work itself.
succeed! { cublasLtMatmul cublasLtMatrixTransform }
// How an algorithm is configured does not matter to one that does not run.
succeed! { cublasLtMatmulAlgoConfigSetAttribute }

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtCreate(handle: *mut usize) -> i32 {
    let fresh = fresh_handle();
    say!("cublasLtCreate -> {fresh:#x}");
    memory::ensure_libraries();
    // SAFETY: the documented out-parameter.
    unsafe { put(handle, fresh) };
    0
}

/// The real library's version, for example 130100; the CUDA version's when it is not loaded.
pub fn version() -> usize {
    const LIBRARIES: [&std::ffi::CStr; 2] = [c"libcublasLt.so.13", c"libcublasLt.so.12"];
    let Some(symbol) = beside::symbol(&LIBRARIES, c"cublasLtGetVersion") else {
        return crate::card::cuda_version() as usize * 10;
    };
    // SAFETY: the documented signature, size_t(void).
    unsafe { std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn() -> usize>(symbol)() }
}

#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetVersion() -> usize {
    version()
}

/// `cublasLtMatmulAlgo_t`: opaque, 64 bytes.
type Algorithm = [u64; 8];

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
pub struct Heuristic {
    algorithm: Algorithm,
    workspace_bytes: usize,
    state: i32,
    waves: f32,
    reserved: [i32; 4],
}

impl Heuristic {
    /// An algorithm that is fine and wants no workspace; PyTorch hands its own to every product anyway.
    fn fine(algorithm: Algorithm) -> Heuristic {
        Heuristic { algorithm, workspace_bytes: 0, state: 0, waves: 1.0, reserved: [0; 4] }
    }
}

alike! {
    [cublasLtMatmulAlgoGetHeuristic]
    (_handle: usize, _operation: usize, _a: usize, _b: usize, _c: usize, _d: usize, _preference: usize,
     requested: i32, results: *mut Heuristic, returned: *mut i32)
    {
        if requested > 0 {
            put(results, Heuristic::fine([0; 8]));
        }
        put(returned, i32::from(requested > 0));
    }
}

alike! {
    [cublasLtMatmulAlgoInit]
    (_handle: usize, _compute: i32, _scale: i32, _a: i32, _b: i32, _c: i32, _d: i32, id: i32, algorithm: *mut Algorithm)
    { put(algorithm, [id as u64, 0, 0, 0, 0, 0, 0, 0]); }
}

alike! {
    [cublasLtMatmulAlgoCheck]
    (_handle: usize, _operation: usize, _a: usize, _b: usize, _c: usize, _d: usize,
     algorithm: *const Algorithm, result: *mut Heuristic)
    { put(result, Heuristic::fine(algorithm.as_ref().copied().unwrap_or_default())); }
}

// The ids of the algorithms there are: the one.
alike! {
    [cublasLtMatmulAlgoGetIds]
    (_handle: usize, _compute: i32, _scale: i32, _a: i32, _b: i32, _c: i32, _d: i32,
     requested: i32, ids: *mut i32, returned: *mut i32)
    {
        if requested > 0 {
            put(ids, 0);
        }
        put(returned, i32::from(requested > 0));
    }
}

// Attributes read back: zero, in as many bytes as were asked for.
alike! {
    [cublasLtMatmulAlgoCapGetAttribute cublasLtMatmulAlgoConfigGetAttribute cublasLtMatmulDescGetAttribute
     cublasLtMatmulPreferenceGetAttribute cublasLtMatrixLayoutGetAttribute cublasLtMatrixTransformDescGetAttribute]
    (_of: usize, _attribute: i32, out: usize, bytes: usize, written: *mut usize)
    { zero(out, bytes); put(written, bytes); }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_has_the_documented_size() {
        assert_eq!(size_of::<Heuristic>(), 64 + 8 + 4 + 4 + 16);
    }

    #[test]
    fn one_algorithm_is_found_and_its_state_is_success() {
        let mut found = Heuristic { workspace_bytes: 1, state: 1, ..Heuristic::fine([1; 8]) };
        let mut count = -1;
        // SAFETY: the pointers are to locals.
        unsafe { cublasLtMatmulAlgoGetHeuristic(0, 0, 0, 0, 0, 0, 0, 1, &mut found, &mut count) };
        assert_eq!((count, found.state, found.workspace_bytes), (1, 0, 0));
    }
}
