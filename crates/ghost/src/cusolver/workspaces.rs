//! The `bufferSize` questions of cuSOLVER. The older ones count elements, the `X` ones bytes.

use super::sizes;
use crate::fill::put;
use crate::{alike, data_type, notes};

/// A dimension, as the formulas want it.
fn size(dimension: impl TryInto<u64>) -> u64 {
    dimension.try_into().unwrap_or(0)
}

/// An answer in elements, which cuSOLVER gives as an `int`.
fn elements(count: u64) -> i32 {
    derived();
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// An answer in bytes.
fn bytes(count: u64, data_type: i32) -> usize {
    derived();
    count as usize * data_type::bytes(data_type)
}

fn derived() {
    notes::note("cuSOLVER workspaces are derived, not measured");
}

// LU, Cholesky and Bunch-Kaufman.
alike! {
    [cusolverDnCgetrf_bufferSize cusolverDnDgetrf_bufferSize cusolverDnSgetrf_bufferSize cusolverDnZgetrf_bufferSize]
    (_handle: usize, m: i32, _n: i32, _a: usize, _lda: i32, lwork: *mut i32)
    { put(lwork, elements(sizes::factor(size(m)))); }
}
alike! {
    [cusolverDnCpotrf_bufferSize cusolverDnDpotrf_bufferSize cusolverDnSpotrf_bufferSize cusolverDnZpotrf_bufferSize]
    (_handle: usize, _uplo: i32, n: i32, _a: usize, _lda: i32, lwork: *mut i32)
    { put(lwork, elements(sizes::factor(size(n)))); }
}
alike! {
    [cusolverDnCsytrf_bufferSize cusolverDnDsytrf_bufferSize cusolverDnSsytrf_bufferSize cusolverDnZsytrf_bufferSize]
    (_handle: usize, n: i32, _a: usize, _lda: i32, lwork: *mut i32)
    { put(lwork, elements(sizes::factor(size(n)))); }
}
alike! {
    [cusolverDnXpotrf_bufferSize]
    (_handle: usize, _params: usize, _uplo: i32, n: i64, a_type: i32, _a: usize, _lda: i64, _compute: i32,
     device: *mut usize, host: *mut usize)
    { put(device, bytes(sizes::factor(size(n)), a_type)); put(host, 0); }
}
alike! {
    [cusolverDnXsytrs_bufferSize]
    (_handle: usize, _uplo: i32, n: i64, nrhs: i64, a_type: i32, _a: usize, _lda: i64, _pivots: usize,
     _b_type: i32, _b: usize, _ldb: i64, device: *mut usize, host: *mut usize)
    { put(device, bytes(size(n) * size(nrhs), a_type)); put(host, 0); }
}

// Orthogonal factorisation.
alike! {
    [cusolverDnCgeqrf_bufferSize cusolverDnDgeqrf_bufferSize cusolverDnSgeqrf_bufferSize cusolverDnZgeqrf_bufferSize]
    (_handle: usize, _m: i32, n: i32, _a: usize, _lda: i32, lwork: *mut i32)
    { put(lwork, elements(sizes::reflect(size(n)))); }
}
alike! {
    [cusolverDnCungqr_bufferSize cusolverDnDorgqr_bufferSize cusolverDnSorgqr_bufferSize cusolverDnZungqr_bufferSize]
    (_handle: usize, _m: i32, n: i32, _k: i32, _a: usize, _lda: i32, _tau: usize, lwork: *mut i32)
    { put(lwork, elements(sizes::reflect(size(n)))); }
}
alike! {
    [cusolverDnCunmqr_bufferSize cusolverDnDormqr_bufferSize cusolverDnSormqr_bufferSize cusolverDnZunmqr_bufferSize]
    (_handle: usize, side: i32, _trans: i32, m: i32, n: i32, _k: i32, _a: usize, _lda: i32, _tau: usize,
     _c: usize, _ldc: i32, lwork: *mut i32)
    {
        // `CUBLAS_SIDE_LEFT` is 0: the reflectors meet the columns of C.
        let met = if side == 0 { n } else { m };
        put(lwork, elements(sizes::reflect(size(met))));
    }
}
alike! {
    [cusolverDnXgeqrf_bufferSize]
    (_handle: usize, _params: usize, _m: i64, n: i64, a_type: i32, _a: usize, _lda: i64, _tau_type: i32,
     _tau: usize, _compute: i32, device: *mut usize, host: *mut usize)
    { put(device, bytes(sizes::reflect(size(n)), a_type)); put(host, 0); }
}

// Eigenvalues. `CUSOLVER_EIG_MODE_VECTOR` is 1.
alike! {
    [cusolverDnCheevd_bufferSize cusolverDnDsyevd_bufferSize cusolverDnSsyevd_bufferSize cusolverDnZheevd_bufferSize]
    (_handle: usize, jobz: i32, _uplo: i32, n: i32, _a: usize, _lda: i32, _w: usize, lwork: *mut i32)
    { put(lwork, elements(sizes::eigen(size(n), jobz == 1))); }
}
alike! {
    [cusolverDnCheevj_bufferSize cusolverDnDsyevj_bufferSize cusolverDnSsyevj_bufferSize cusolverDnZheevj_bufferSize]
    (_handle: usize, _jobz: i32, _uplo: i32, n: i32, _a: usize, _lda: i32, _w: usize, lwork: *mut i32)
    { put(lwork, elements(sizes::eigen_jacobi(size(n)))); }
}
alike! {
    [cusolverDnCheevjBatched_bufferSize cusolverDnDsyevjBatched_bufferSize
     cusolverDnSsyevjBatched_bufferSize cusolverDnZheevjBatched_bufferSize]
    (_handle: usize, _jobz: i32, _uplo: i32, n: i32, _a: usize, _lda: i32, _w: usize, lwork: *mut i32,
     _params: usize, batch: i32)
    { put(lwork, elements(size(batch) * sizes::eigen_jacobi(size(n)))); }
}
alike! {
    [cusolverDnXsyevd_bufferSize]
    (_handle: usize, _params: usize, jobz: i32, _uplo: i32, n: i64, a_type: i32, _a: usize, _lda: i64,
     _w_type: i32, _w: usize, _compute: i32, device: *mut usize, host: *mut usize)
    { put(device, bytes(sizes::eigen(size(n), jobz == 1), a_type)); put(host, 0); }
}
alike! {
    [cusolverDnXsyevBatched_bufferSize]
    (_handle: usize, _params: usize, _jobz: i32, _uplo: i32, n: i64, a_type: i32, _a: usize, _lda: i64,
     _w_type: i32, _w: usize, _compute: i32, device: *mut usize, host: *mut usize, batch: i64)
    { put(device, bytes(size(batch) * sizes::eigen_jacobi(size(n)), a_type)); put(host, 0); }
}
alike! {
    [cusolverDnXgeev_bufferSize]
    (_handle: usize, _params: usize, _jobvl: i32, _jobvr: i32, n: i64, a_type: i32, _a: usize, _lda: i64,
     _w_type: i32, _w: usize, _vl_type: i32, _vl: usize, _ldvl: i64, _vr_type: i32, _vr: usize, _ldvr: i64,
     _compute: i32, device: *mut usize, host: *mut usize)
    {
        put(device, bytes(sizes::eigen_general(size(n)), a_type));
        put(host, bytes(size(n) * size(n), a_type));
    }
}

// Singular values.
alike! {
    [cusolverDnCgesvd_bufferSize cusolverDnDgesvd_bufferSize cusolverDnSgesvd_bufferSize cusolverDnZgesvd_bufferSize]
    (_handle: usize, m: i32, n: i32, lwork: *mut i32)
    { put(lwork, elements(sizes::singular(size(m), size(n)))); }
}
alike! {
    [cusolverDnCgesvdj_bufferSize cusolverDnDgesvdj_bufferSize
     cusolverDnSgesvdj_bufferSize cusolverDnZgesvdj_bufferSize]
    (_handle: usize, _jobz: i32, _econ: i32, m: i32, n: i32, _a: usize, _lda: i32, _s: usize, _u: usize, _ldu: i32,
     _v: usize, _ldv: i32, lwork: *mut i32)
    { put(lwork, elements(sizes::singular_jacobi(size(m), size(n)))); }
}
alike! {
    [cusolverDnCgesvdjBatched_bufferSize cusolverDnDgesvdjBatched_bufferSize
     cusolverDnSgesvdjBatched_bufferSize cusolverDnZgesvdjBatched_bufferSize]
    (_handle: usize, _jobz: i32, m: i32, n: i32, _a: usize, _lda: i32, _s: usize, _u: usize, _ldu: i32,
     _v: usize, _ldv: i32, lwork: *mut i32, _params: usize, batch: i32)
    { put(lwork, elements(size(batch) * sizes::singular_jacobi(size(m), size(n)))); }
}
alike! {
    [cusolverDnCgesvdaStridedBatched_bufferSize cusolverDnDgesvdaStridedBatched_bufferSize
     cusolverDnSgesvdaStridedBatched_bufferSize cusolverDnZgesvdaStridedBatched_bufferSize]
    (_handle: usize, _jobz: i32, _rank: i32, m: i32, n: i32, _a: usize, _lda: i32, _stride_a: i64, _s: usize,
     _stride_s: i64, _u: usize, _ldu: i32, _stride_u: i64, _v: usize, _ldv: i32, _stride_v: i64,
     lwork: *mut i32, batch: i32)
    { put(lwork, elements(size(batch) * sizes::singular_approximate(size(m), size(n)))); }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_lands_in_the_last_of_many_arguments() {
        let (mut device, mut host) = (usize::MAX, usize::MAX);
        // SAFETY: the pointers are to locals; 0 is CUDA_R_32F.
        unsafe { cusolverDnXsyevd_bufferSize(0, 0, 1, 0, 10, 0, 0, 10, 0, 0, 0, &mut device, &mut host) };
        assert_eq!((device, host), (4 * (1 + 60 + 200), 0));
    }

    #[test]
    fn an_int_never_wraps() {
        let mut lwork = 0;
        // SAFETY: the pointer is to a local.
        unsafe { cusolverDnSsyevd_bufferSize(0, 1, 0, 100_000, 0, 100_000, 0, &mut lwork) };
        assert_eq!(lwork, i32::MAX);
    }
}
