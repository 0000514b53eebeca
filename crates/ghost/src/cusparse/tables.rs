//! cuSPARSE calls that create, set up or start, and are asked nothing afterwards.

use crate::{hand_out, succeed};

hand_out! {
    cusparseCreate: 0
    cusparseCreateBsrsm2Info: 0
    cusparseCreateBsrsv2Info: 0
    cusparseCreateConstDnMat: 0
    cusparseCreateConstDnVec: 0
    cusparseCreateDnMat: 0
    cusparseCreateDnVec: 0
    cusparseCreateMatDescr: 0
    cusparseSpGEMM_createDescr: 0
    cusparseSpSM_createDescr: 0
    cusparseSpSV_createDescr: 0
}

// Destruction.
succeed! {
    cusparseDestroy
    cusparseDestroyBsrsm2Info cusparseDestroyBsrsv2Info
    cusparseDestroyDnMat cusparseDestroyDnVec cusparseDestroyMatDescr
    cusparseSpGEMM_destroyDescr cusparseSpSM_destroyDescr cusparseSpSV_destroyDescr
}

// What handles and descriptors are told.
succeed! {
    cusparseCsrSetPointers cusparseCsrSetStridedBatch cusparseDnMatSetStridedBatch
    cusparseSetMatDiagType cusparseSetMatFillMode cusparseSetMatIndexBase cusparseSetMatType
    cusparseSetPointerMode cusparseSetStream
    cusparseSpMatSetAttribute
}

// Generic products and solvers.
succeed! {
    cusparseSDDMM cusparseSDDMM_preprocess
    cusparseSpGEMM_copy
    cusparseSpMM cusparseSpMM_preprocess cusparseSpMV cusparseSpMV_preprocess
    cusparseSpSM_analysis cusparseSpSM_solve cusparseSpSV_analysis cusparseSpSV_solve
}

// Block matrices.
succeed! {
    cusparseCbsrmm cusparseCbsrmv cusparseDbsrmm cusparseDbsrmv
    cusparseSbsrmm cusparseSbsrmv cusparseZbsrmm cusparseZbsrmv
    cusparseCbsrsm2_analysis cusparseCbsrsm2_solve cusparseCbsrsv2_analysis cusparseCbsrsv2_solve
    cusparseDbsrsm2_analysis cusparseDbsrsm2_solve cusparseDbsrsv2_analysis cusparseDbsrsv2_solve
    cusparseSbsrsm2_analysis cusparseSbsrsm2_solve cusparseSbsrsv2_analysis cusparseSbsrsv2_solve
    cusparseZbsrsm2_analysis cusparseZbsrsm2_solve cusparseZbsrsv2_analysis cusparseZbsrsv2_solve
}

// Sums, and orders of entries. All results lie on the device.
succeed! {
    cusparseCcsrgeam2 cusparseDcsrgeam2 cusparseScsrgeam2 cusparseZcsrgeam2
    cusparseCreateIdentityPermutation cusparseXcoo2csr cusparseXcoosortByRow cusparseXcsrsort
}
