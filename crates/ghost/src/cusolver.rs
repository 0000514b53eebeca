//! cuSOLVER's dense routines: they work on device memory, and ask for workspace first.
//!
//! PyTorch allocates those workspaces from its caching allocator, so their sizes matter; they are
//! in [`sizes`]. What the routines report (`devInfo`) lies on the device and reads as zero: success.

mod sizes;
mod workspaces;

use crate::fill::zero;
use crate::{alike, hand_out, succeed};

hand_out! {
    cusolverDnCreate: 0
    cusolverDnCreateGesvdjInfo: 0
    cusolverDnCreateParams: 0
    cusolverDnCreateSyevjInfo: 0
}

// Handles, and how the Jacobi methods iterate.
succeed! {
    cusolverDnDestroy cusolverDnDestroyGesvdjInfo cusolverDnDestroyParams cusolverDnDestroySyevjInfo
    cusolverDnSetStream
    cusolverDnXgesvdjSetMaxSweeps cusolverDnXgesvdjSetSortEig cusolverDnXgesvdjSetTolerance
    cusolverDnXsyevjSetMaxSweeps cusolverDnXsyevjSetSortEig cusolverDnXsyevjSetTolerance
}

// Linear systems: LU, Cholesky, Bunch-Kaufman.
succeed! {
    cusolverDnCgetrf cusolverDnCgetrs cusolverDnCpotrf cusolverDnCpotrfBatched cusolverDnCpotrs
    cusolverDnCpotrsBatched cusolverDnCsytrf
    cusolverDnDgetrf cusolverDnDgetrs cusolverDnDpotrf cusolverDnDpotrfBatched cusolverDnDpotrs
    cusolverDnDpotrsBatched cusolverDnDsytrf
    cusolverDnSgetrf cusolverDnSgetrs cusolverDnSpotrf cusolverDnSpotrfBatched cusolverDnSpotrs
    cusolverDnSpotrsBatched cusolverDnSsytrf
    cusolverDnXpotrf cusolverDnXpotrs cusolverDnXsytrs
    cusolverDnZgetrf cusolverDnZgetrs cusolverDnZpotrf cusolverDnZpotrfBatched cusolverDnZpotrs
    cusolverDnZpotrsBatched cusolverDnZsytrf
}

// Orthogonal factorisation.
succeed! {
    cusolverDnCgeqrf cusolverDnCungqr cusolverDnCunmqr
    cusolverDnDgeqrf cusolverDnDorgqr cusolverDnDormqr
    cusolverDnSgeqrf cusolverDnSorgqr cusolverDnSormqr
    cusolverDnXgeqrf
    cusolverDnZgeqrf cusolverDnZungqr cusolverDnZunmqr
}

// Eigenvalues and singular values.
succeed! {
    cusolverDnCgesvd cusolverDnCgesvdj cusolverDnCgesvdjBatched cusolverDnCheevd cusolverDnCheevj
    cusolverDnCheevjBatched
    cusolverDnDgesvd cusolverDnDgesvdj cusolverDnDgesvdjBatched cusolverDnDsyevd cusolverDnDsyevj
    cusolverDnDsyevjBatched
    cusolverDnSgesvd cusolverDnSgesvdj cusolverDnSgesvdjBatched cusolverDnSsyevd cusolverDnSsyevj
    cusolverDnSsyevjBatched
    cusolverDnXgeev cusolverDnXsyevBatched cusolverDnXsyevd
    cusolverDnZgesvd cusolverDnZgesvdj cusolverDnZgesvdjBatched cusolverDnZheevd cusolverDnZheevj
    cusolverDnZheevjBatched
}

// The approximate method also writes a residual norm per matrix, on the host.
alike! {
    [cusolverDnCgesvdaStridedBatched cusolverDnDgesvdaStridedBatched
     cusolverDnSgesvdaStridedBatched cusolverDnZgesvdaStridedBatched]
    (_handle: usize, _jobz: i32, _rank: i32, _m: i32, _n: i32, _a: usize, _lda: i32, _stride_a: i64,
     _s: usize, _stride_s: i64, _u: usize, _ldu: i32, _stride_u: i64, _v: usize, _ldv: i32, _stride_v: i64,
     _work: usize, _lwork: i32, _info: usize, residuals: usize, batch: i32)
    { zero(residuals, batch.max(0) as usize * size_of::<f64>()); }
}
