//! Convolution workspaces where nobody can be asked: a cuDNN before 9.8.
//!
//! A rule of thumb over 18,287 plans of an H200 under cuDNN 9.19: channels-first tensors are copied
//! to channels-last and back, matrix products need next to nothing, weight gradients keep a few
//! partial sums. Results that rest on it say so.

use super::convolution::{Convolution, Op};

const PARTIAL_SUMS: i64 = 8 << 20;

pub fn workspace(conv: &Convolution) -> i64 {
    let element = if conv.data_type == 0 { 4 } else { 2 };
    let bytes = |dims: &[i64]| dims.iter().product::<i64>() * element;
    let is_product = conv.w.iter().skip(2).all(|&k| k == 1) && conv.stride.iter().all(|&s| s == 1);
    let is_grouped = conv.x.get(1) != conv.w.get(1);
    let partial = if conv.op == Op::WeightGradient { PARTIAL_SUMS } else { 0 };
    if is_grouped || is_product || conv.channels_last {
        return partial.min(bytes(&conv.w) * 16);
    }
    bytes(&conv.x) + bytes(&conv.w) + bytes(&conv.y) + partial
}
