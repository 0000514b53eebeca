//! Batch normalization.
//!
//! Only the persistent kernels for channels-last tensors want a workspace: each block of rows leaves
//! its partial sums there. The block sizes were read off 955 tensors measured on an H200 (cuDNN 9.19,
//! float, half and bfloat16) and give all of them to the byte; other cards are assumed to be alike.

use super::SUCCESS;
use super::real_descriptors::{self, Tensor};
use crate::fill::put;

const SPATIAL_PERSISTENT: i32 = 2;
const FLOAT: i32 = 0;
const DOUBLE: i32 = 1;

/// Rows (pixels of all images) and channels of a channels-last tensor.
struct ChannelsLast {
    rows: u64,
    channels: u64,
    is_wide: bool,
}

impl ChannelsLast {
    /// Sizes of one need not have the stride that their place asks for.
    fn of(tensor: &Tensor) -> Option<ChannelsLast> {
        let [batch, channels, space @ ..] = tensor.sizes.as_slice() else { return None };
        let inner_first = std::iter::once(1).chain((2..tensor.sizes.len()).rev()).chain([0]);
        let mut expected = 1;
        for axis in inner_first {
            if tensor.sizes[axis] != 1 && tensor.strides[axis] != expected {
                return None;
            }
            expected *= tensor.sizes[axis];
        }
        let rows = space.iter().fold(*batch as u64, |rows, &size| rows * size as u64);
        let is_wide = matches!(tensor.data_type, FLOAT | DOUBLE);
        Some(ChannelsLast { rows, channels: *channels as u64, is_wide })
    }

    /// Channels and rows that one thread block takes.
    fn block(&self) -> (u64, u64) {
        match self.channels {
            ..4 => (4, 256),
            c if c % 4 != 0 => (16, 64),
            _ => (64, 64),
        }
    }

    /// Two sums for each channel and a counter for each block.
    fn forward(&self) -> u64 {
        let (wide, rows) = self.block();
        let rows = if self.is_wide { rows } else { rows * 5 / 2 };
        let columns = self.channels.div_ceil(wide);
        1072 + columns * (4 + self.rows.div_ceil(rows) * (8 * wide + 4))
    }

    fn backward(&self) -> u64 {
        let (wide, rows) = self.block();
        let columns = self.channels.div_ceil(wide);
        1056 + columns * (4 + self.rows.div_ceil(rows * 3 / 2) * 8 * wide)
    }
}

fn persistent(mode: i32, descriptor: usize) -> Option<ChannelsLast> {
    if mode != SPATIAL_PERSISTENT {
        return None;
    }
    ChannelsLast::of(&real_descriptors::tensor(descriptor)?)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    _handle: usize,
    mode: i32,
    _operations: i32,
    x: usize,
    _z: usize,
    _y: usize,
    _scale: usize,
    _activation: usize,
    out: *mut usize,
) -> i32 {
    let bytes = persistent(mode, x).map_or(0, |tensor| tensor.forward());
    // SAFETY: null or the caller's to be written.
    unsafe { put(out, bytes as usize) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    _handle: usize,
    mode: i32,
    _operations: i32,
    x: usize,
    _y: usize,
    _dy: usize,
    _dz: usize,
    _dx: usize,
    _scale: usize,
    _activation: usize,
    out: *mut usize,
) -> i32 {
    let bytes = persistent(mode, x).map_or(0, |tensor| tensor.backward());
    // SAFETY: null or the caller's to be written.
    unsafe { put(out, bytes as usize) };
    SUCCESS
}

/// The reserve holds the bits of a fused ReLU; without one, which is all that PyTorch asks for, it is
/// empty in every measured case.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    _handle: usize,
    _mode: i32,
    _operations: i32,
    _activation: usize,
    _x: usize,
    out: *mut usize,
) -> i32 {
    // SAFETY: null or the caller's to be written.
    unsafe { put(out, 0) };
    SUCCESS
}

crate::succeed! {
    cudnnBatchNormalizationForwardTraining cudnnBatchNormalizationForwardTrainingEx
    cudnnBatchNormalizationForwardInference
    cudnnBatchNormalizationBackward cudnnBatchNormalizationBackwardEx
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: i32 = 2;

    fn channels_last(data_type: i32, [n, c, h, w]: [i32; 4]) -> Option<ChannelsLast> {
        ChannelsLast::of(&Tensor { data_type, sizes: vec![n, c, h, w], strides: vec![c * h * w, 1, c * w, c] })
    }

    #[test]
    fn sizes_are_those_of_the_card() {
        let measured = [
            (FLOAT, [32, 64, 56, 56], 810_164, 536_612),
            (FLOAT, [64, 256, 28, 28], 1_619_264, 1_072_176),
            (FLOAT, [16, 512, 7, 7], 54_768, 37_952),
            (FLOAT, [8, 3, 224, 224], 57_524, 34_532),
            (FLOAT, [32, 65, 28, 28], 259_812, 168_756),
            (HALF, [32, 64, 56, 56], 325_124, 536_612),
            (HALF, [8, 3, 224, 224], 23_684, 34_532),
            (HALF, [32, 33, 28, 28], 63_256, 101_676),
        ];
        for (data_type, sizes, forward, backward) in measured {
            let tensor = channels_last(data_type, sizes).unwrap();
            assert_eq!((tensor.forward(), tensor.backward()), (forward, backward), "{sizes:?}");
        }
    }

    #[test]
    fn contiguous_tensors_have_no_persistent_kernel() {
        let contiguous = |sizes: Vec<i32>, strides: Vec<i32>| Tensor { data_type: FLOAT, sizes, strides };
        assert!(ChannelsLast::of(&contiguous(vec![2, 8, 4, 4], vec![128, 16, 4, 1])).is_none());
        // One pixel lies the same way in both formats.
        assert!(ChannelsLast::of(&contiguous(vec![32, 64, 1, 1], vec![64, 1, 1, 1])).is_some());
    }
}
