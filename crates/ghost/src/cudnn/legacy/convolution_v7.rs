//! Convolutions as they were before the graph API; PyTorch uses them with `TORCH_CUDNN_V8_API_DISABLED`.
//!
//! One algorithm is offered for each direction, the implicit GEMM that every shape supports. Its
//! workspace is assumed to be empty; nothing was measured, and a note says so.

use super::SUCCESS;
use crate::fill::put;
use crate::notes;

/// `cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t`: three names for one layout.
#[repr(C)]
pub struct Performance {
    algorithm: i32,
    status: i32,
    milliseconds: f32,
    memory: usize,
    determinism: i32,
    math: i32,
    reserved: [i32; 3],
}

/// Number 1 is the deterministic implicit GEMM in all three enumerations.
const IMPLICIT_GEMM: i32 = 1;
const DETERMINISTIC: i32 = 1;

/// # Safety
/// `count` is null or writable; `found` has room for `requested` results.
unsafe fn offer(requested: i32, count: *mut i32, found: *mut Performance) {
    notes::note("cuDNN's older convolution API: workspaces are assumed to be empty");
    // SAFETY: as the caller promises.
    unsafe {
        put(count, requested.clamp(0, 1));
        if requested > 0 {
            put(
                found,
                Performance {
                    algorithm: IMPLICIT_GEMM,
                    status: SUCCESS,
                    milliseconds: 1.0,
                    memory: 0,
                    determinism: DETERMINISTIC,
                    math: 0,
                    reserved: [0; 3],
                },
            );
        }
    }
}

crate::alike! {
    [
        cudnnGetConvolutionForwardAlgorithm_v7 cudnnGetConvolutionBackwardDataAlgorithm_v7
        cudnnGetConvolutionBackwardFilterAlgorithm_v7
    ]
    (
        _handle: usize, _a: usize, _b: usize, _convolution: usize, _c: usize,
        requested: i32, count: *mut i32, found: *mut Performance,
    )
    { offer(requested, count, found) }
}

// The same with the tensors, which nothing is measured on.
crate::alike! {
    [
        cudnnFindConvolutionForwardAlgorithmEx cudnnFindConvolutionBackwardDataAlgorithmEx
        cudnnFindConvolutionBackwardFilterAlgorithmEx
    ]
    (
        _handle: usize, _a: usize, _a_data: usize, _b: usize, _b_data: usize,
        _convolution: usize, _c: usize, _c_data: usize,
        requested: i32, count: *mut i32, found: *mut Performance,
    )
    { offer(requested, count, found) }
}

crate::alike! {
    [
        cudnnGetConvolutionForwardWorkspaceSize cudnnGetConvolutionBackwardDataWorkspaceSize
        cudnnGetConvolutionBackwardFilterWorkspaceSize
    ]
    (_handle: usize, _a: usize, _b: usize, _convolution: usize, _c: usize, _algorithm: i32, out: *mut usize)
    { put(out, 0) }
}

crate::succeed! {
    cudnnConvolutionForward cudnnConvolutionBiasActivationForward cudnnConvolutionBackwardData
    cudnnConvolutionBackwardFilter cudnnConvolutionBackwardBias
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_result_is_written_and_counted() {
        assert_eq!(size_of::<Performance>(), 48);
        let mut count = 7;
        let mut found = std::mem::MaybeUninit::<[Performance; 2]>::uninit();
        // SAFETY: room for two results.
        unsafe { offer(2, &mut count, found.as_mut_ptr().cast()) };
        // SAFETY: the first result was written.
        let first = unsafe { &*found.as_ptr().cast::<Performance>() };
        assert_eq!((count, first.algorithm, first.status, first.memory), (1, IMPLICIT_GEMM, SUCCESS, 0));
    }
}
