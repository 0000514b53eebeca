//! cuBLAS routines that only work on device memory.

use crate::succeed;

// What a handle is told and nobody asks again.
succeed! { cublasSetAtomicsMode cublasSetSmCountTarget cublasSetWorkspace_v2 }

// Copies to the device.
succeed! { cublasSetMatrix cublasSetMatrixAsync cublasSetVector cublasSetVectorAsync }

// Products by element types given at run time, single and batched.
succeed! {
    cublasGemmBatchedEx cublasGemmGroupedBatchedEx cublasGemmEx cublasGemmStridedBatchedEx cublasSgemmEx
}

// Matrix products.
succeed! {
    cublasCgemmBatched cublasCgemmStridedBatched cublasCgemm_v2
    cublasDgemmBatched cublasDgemmStridedBatched cublasDgemm_v2
    cublasSgemmBatched cublasSgemmStridedBatched cublasSgemm_v2
    cublasZgemmBatched cublasZgemmStridedBatched cublasZgemm_v2
}

// Products with symmetric, Hermitian and triangular matrices.
succeed! {
    cublasChemm_v2 cublasCher2k_v2 cublasCherk_v2 cublasCsymm_v2 cublasCsyr2k_v2 cublasCsyrk_v2 cublasCtrmm_v2
    cublasDsymm_v2 cublasDsyr2k_v2 cublasDsyrk_v2 cublasDtrmm_v2
    cublasSsymm_v2 cublasSsyr2k_v2 cublasSsyrk_v2 cublasStrmm_v2
    cublasZhemm_v2 cublasZher2k_v2 cublasZherk_v2 cublasZsymm_v2 cublasZsyr2k_v2 cublasZsyrk_v2 cublasZtrmm_v2
}

// Triangular systems, and factorisations of batches (their `info` lies on the device).
succeed! {
    cublasCgetrfBatched cublasCtrsmBatched cublasCtrsm_v2 cublasCtrsv_v2
    cublasDgetrfBatched cublasDtrsmBatched cublasDtrsm_v2 cublasDtrsv_v2
    cublasSgetrfBatched cublasStrsmBatched cublasStrsm_v2 cublasStrsv_v2
    cublasZgetrfBatched cublasZtrsmBatched cublasZtrsm_v2 cublasZtrsv_v2
}

// Matrix and vector.
succeed! {
    cublasCgemv_v2 cublasCgerc_v2 cublasCgeru_v2 cublasChemv_v2 cublasCher2_v2 cublasCher_v2 cublasCsymv_v2
    cublasCsyr2_v2 cublasCsyr_v2 cublasCtrmv_v2
    cublasDgemv_v2 cublasDger_v2 cublasDsymv_v2 cublasDsyr2_v2 cublasDsyr_v2 cublasDtrmv_v2
    cublasSgemv_v2 cublasSger_v2 cublasSsymv_v2 cublasSsyr2_v2 cublasSsyr_v2 cublasStrmv_v2
    cublasZgemv_v2 cublasZgerc_v2 cublasZgeru_v2 cublasZhemv_v2 cublasZher2_v2 cublasZher_v2 cublasZsymv_v2
    cublasZsyr2_v2 cublasZsyr_v2 cublasZtrmv_v2
}

// Vector and vector.
succeed! {
    cublasCaxpy_v2 cublasCcopy_v2 cublasCrot_v2 cublasCscal_v2 cublasCsrot_v2 cublasCsscal_v2 cublasCswap_v2
    cublasDaxpy_v2 cublasDcopy_v2 cublasDrot_v2 cublasDrotm_v2 cublasDscal_v2 cublasDswap_v2
    cublasSaxpy_v2 cublasScopy_v2 cublasSrot_v2 cublasSrotm_v2 cublasSscal_v2 cublasSswap_v2
    cublasZaxpy_v2 cublasZcopy_v2 cublasZdrot_v2 cublasZdscal_v2 cublasZrot_v2 cublasZscal_v2 cublasZswap_v2
}
