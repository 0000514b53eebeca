//! cuBLAS: handles with their modes, and the few results that land in host memory.
//!
//! Workspaces are PyTorch's own, so products need no answer but success.

mod light;
mod tables;

use crate::answer::fresh_handle;
use crate::fill::put;
use crate::{alike, data_type, memory, say};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard};

/// What a handle was told, to tell it again.
#[derive(Clone, Copy, Default)]
struct Settings {
    /// `CUBLAS_POINTER_MODE_HOST` is 0, the default; in mode 1 results live on the device.
    pointer_mode: i32,
    math_mode: i32,
    stream: usize,
}

static HANDLES: LazyLock<Mutex<HashMap<usize, Settings>>> = LazyLock::new(Mutex::default);

fn handles() -> MutexGuard<'static, HashMap<usize, Settings>> {
    HANDLES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn settings(handle: usize) -> Settings {
    handles().get(&handle).copied().unwrap_or_default()
}

fn change(handle: usize, change: impl FnOnce(&mut Settings)) {
    change(handles().entry(handle).or_default());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasCreate_v2(handle: *mut usize) -> i32 {
    let fresh = fresh_handle();
    say!("cublasCreate_v2 -> {fresh:#x}");
    memory::ensure_libraries();
    // SAFETY: the documented out-parameter.
    unsafe { put(handle, fresh) };
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cublasDestroy_v2(handle: usize) -> i32 {
    say!("cublasDestroy_v2 {handle:#x}");
    handles().remove(&handle);
    0
}

alike! {
    [cublasSetPointerMode_v2]
    (handle: usize, mode: i32)
    { change(handle, |s| s.pointer_mode = mode); }
}
alike! {
    [cublasGetPointerMode_v2]
    (handle: usize, mode: *mut i32)
    { put(mode, settings(handle).pointer_mode); }
}
alike! {
    [cublasSetMathMode]
    (handle: usize, mode: i32)
    { change(handle, |s| s.math_mode = mode); }
}
alike! {
    [cublasGetMathMode]
    (handle: usize, mode: *mut i32)
    { put(mode, settings(handle).math_mode); }
}
alike! {
    [cublasSetStream_v2]
    (handle: usize, stream: usize)
    { change(handle, |s| s.stream = stream); }
}
alike! {
    [cublasGetStream_v2]
    (handle: usize, stream: *mut usize)
    { put(stream, settings(handle).stream); }
}
alike! {
    [cublasGetVersion_v2]
    (_handle: usize, version: *mut i32)
    { put(version, light::version() as i32); }
}
alike! {
    [cublasGetAtomicsMode cublasGetSmCountTarget]
    (_handle: usize, value: *mut i32)
    { put(value, 0); }
}

/// Writes a result that the handle wants in host memory. A device result is not written: nothing is there.
unsafe fn result<T>(handle: usize, out: *mut T, value: T) {
    if settings(handle).pointer_mode == 0 {
        // SAFETY: in host mode the documented result pointer is host memory.
        unsafe { put(out, value) };
    }
}

// Inner products.
alike! {
    [cublasSdot_v2]
    (h: usize, _n: i32, _x: usize, _incx: i32, _y: usize, _incy: i32, out: *mut f32)
    { result(h, out, 0.0); }
}
alike! {
    [cublasDdot_v2]
    (h: usize, _n: i32, _x: usize, _incx: i32, _y: usize, _incy: i32, out: *mut f64)
    { result(h, out, 0.0); }
}
alike! {
    [cublasCdotc_v2 cublasCdotu_v2]
    (h: usize, _n: i32, _x: usize, _incx: i32, _y: usize, _incy: i32, out: *mut [f32; 2])
    { result(h, out, [0.0; 2]); }
}
alike! {
    [cublasZdotc_v2 cublasZdotu_v2]
    (h: usize, _n: i32, _x: usize, _incx: i32, _y: usize, _incy: i32, out: *mut [f64; 2])
    { result(h, out, [0.0; 2]); }
}

// Norms and sums of magnitudes.
alike! {
    [cublasSasum_v2 cublasScasum_v2 cublasScnrm2_v2 cublasSnrm2_v2]
    (h: usize, _n: i32, _x: usize, _incx: i32, out: *mut f32)
    { result(h, out, 0.0); }
}
alike! {
    [cublasDasum_v2 cublasDnrm2_v2 cublasDzasum_v2 cublasDznrm2_v2]
    (h: usize, _n: i32, _x: usize, _incx: i32, out: *mut f64)
    { result(h, out, 0.0); }
}

// Where the largest and the smallest element are, counted from 1 as in Fortran; 0 only for no elements.
alike! {
    [cublasIcamax_v2 cublasIcamin_v2 cublasIdamax_v2 cublasIdamin_v2
     cublasIsamax_v2 cublasIsamin_v2 cublasIzamax_v2 cublasIzamin_v2]
    (h: usize, n: i32, _x: usize, _incx: i32, out: *mut i32) { result(h, out, i32::from(n > 0)); }
}

// Plane rotations: the one that changes nothing (cosine 1, sine 0).
alike! {
    [cublasSrotg_v2]
    (h: usize, _a: usize, _b: usize, c: *mut f32, s: *mut f32)
    { result(h, c, 1.0); result(h, s, 0.0); }
}
alike! {
    [cublasDrotg_v2]
    (h: usize, _a: usize, _b: usize, c: *mut f64, s: *mut f64)
    { result(h, c, 1.0); result(h, s, 0.0); }
}
alike! {
    [cublasCrotg_v2]
    (h: usize, _a: usize, _b: usize, c: *mut f32, s: *mut [f32; 2])
    { result(h, c, 1.0); result(h, s, [0.0; 2]); }
}
alike! {
    [cublasZrotg_v2]
    (h: usize, _a: usize, _b: usize, c: *mut f64, s: *mut [f64; 2])
    { result(h, c, 1.0); result(h, s, [0.0; 2]); }
}
// The modified ones say the same by the flag -2.
alike! {
    [cublasSrotmg_v2]
    (h: usize, _d1: usize, _d2: usize, _x1: usize, _y1: usize, param: *mut [f32; 5])
    { result(h, param, [-2.0, 0.0, 0.0, 0.0, 0.0]); }
}
alike! {
    [cublasDrotmg_v2]
    (h: usize, _d1: usize, _d2: usize, _x1: usize, _y1: usize, param: *mut [f64; 5])
    { result(h, param, [-2.0, 0.0, 0.0, 0.0, 0.0]); }
}

alike! {
    [cublasDotEx cublasDotcEx]
    (h: usize, _n: i32, _x: usize, _x_type: i32, _incx: i32, _y: usize, _y_type: i32, _incy: i32, out: usize,
     out_type: i32)
    { if settings(h).pointer_mode == 0 { crate::fill::zero(out, data_type::bytes(out_type)); } }
}

// Batched solvers: `info` is a host pointer and says that the arguments were right.
alike! {
    [cublasCgeqrfBatched cublasDgeqrfBatched cublasSgeqrfBatched cublasZgeqrfBatched]
    (_h: usize, _m: i32, _n: i32, _a: usize, _lda: i32, _tau: usize, info: *mut i32) { put(info, 0); }
}
alike! {
    [cublasCgelsBatched cublasDgelsBatched cublasSgelsBatched cublasZgelsBatched]
    (_h: usize, _trans: i32, _m: i32, _n: i32, _nrhs: i32, _a: usize, _lda: i32, _c: usize, _ldc: i32, info: *mut i32)
    { put(info, 0); }
}
alike! {
    [cublasCgetrsBatched cublasDgetrsBatched cublasSgetrsBatched cublasZgetrsBatched]
    (_h: usize, _trans: i32, _n: i32, _nrhs: i32, _a: usize, _lda: i32, _pivots: usize, _b: usize, _ldb: i32,
     info: *mut i32)
    { put(info, 0); }
}

// Copies to the host: nothing was computed, so zeros arrive.
alike! {
    [cublasGetMatrix cublasGetMatrixAsync]
    (rows: i32, columns: i32, element: i32, _a: usize, _lda: i32, host: usize, ldb: i32)
    { zero_columns(host, rows, columns, element, ldb); }
}
alike! {
    [cublasGetVector cublasGetVectorAsync]
    (n: i32, element: i32, _device: usize, _incx: i32, host: usize, incy: i32)
    { zero_columns(host, 1, n, element, incy); }
}

/// Zeroes `columns` runs of `rows` elements, one every `stride` elements.
unsafe fn zero_columns(host: usize, rows: i32, columns: i32, element: i32, stride: i32) {
    let [rows, columns, element, stride] = [rows, columns, element, stride].map(|n| n.max(0) as usize);
    for column in 0..columns {
        // SAFETY: the documented layout of the host matrix: column-major, leading dimension `stride`.
        unsafe { crate::fill::zero(host + column * stride * element, rows * element) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_remembers_its_modes() {
        let (mut handle, mut mode) = (0, -1);
        // SAFETY: all pointers are to locals.
        unsafe {
            cublasCreate_v2(&mut handle);
            cublasSetPointerMode_v2(handle, 1);
            cublasGetPointerMode_v2(handle, &mut mode);
        }
        assert_ne!(handle, 0);
        assert_eq!(mode, 1);
        cublasDestroy_v2(handle);
        assert_eq!(settings(handle).pointer_mode, 0);
    }

    #[test]
    fn results_are_written_only_in_host_mode() {
        let mut out = 7.0_f32;
        // SAFETY: the result pointer is to a local, and is not written in device mode.
        unsafe {
            change(0x51, |s| s.pointer_mode = 1);
            cublasSdot_v2(0x51, 3, 0, 1, 0, 1, &mut out);
            assert_eq!(out, 7.0);
            cublasSdot_v2(0x52, 3, 0, 1, 0, 1, &mut out);
            assert_eq!(out, 0.0);
        }
    }

    #[test]
    fn a_matrix_arrives_as_zeros_between_untouched_padding() {
        let mut host = [9_u8; 6];
        // SAFETY: two columns of two one-byte rows, three apart, fit in six bytes.
        unsafe { cublasGetMatrixAsync(2, 2, 1, 0, 2, host.as_mut_ptr() as usize, 3) };
        assert_eq!(host, [0, 0, 9, 0, 0, 9]);
    }
}
