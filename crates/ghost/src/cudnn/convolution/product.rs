//! 1×1 convolutions through cuBLASLt.
//!
//! Engines 58 (forward), 63 (data gradient) and 62 (weight gradient) with knob 25 alone. The knob
//! is the limit that cuDNN sets on cuBLASLt's workspace. On the card they lead 9,780 of the 11,712
//! graphs of this kind; with a cuBLASLt that answers, cuDNN lists them devicelessly for exactly the
//! same graphs and in the same order, and the plan's workspace is then cuDNN's own share: n·co·ci
//! floats for a weight gradient in NCHW (one product an image, summed afterwards), else nothing.
//! cuBLASLt's share is estimated here, because its choice of kernel is its own; most shares are
//! none, or the few hundred bytes of a persistent kernel.

use super::{Choice, Convolution, FLOAT, Op};

const MIB: i64 = 1 << 20;
/// By the value of knob 25, as cuDNN passes it to `cublasLtMatmulPreferenceSetAttribute`.
const LIMITS: [i64; 3] = [0, 4 * MIB, 128 * MIB];
/// Positions that a part of a split sum covers at least, half precision and float.
const PART: [i64; 2] = [1280, 110];

/// cuBLASLt's limit, if this is one of its plans.
pub fn limit(conv: &Convolution, choice: &Choice) -> Option<u64> {
    let engine = match conv.op {
        Op::Forward => 58,
        Op::DataGradient => 63,
        Op::WeightGradient => 62,
    };
    let [(25, knob)] = choice.knobs[..] else {
        return None;
    };
    let limit = LIMITS.get(usize::try_from(knob).ok()?)?;
    (choice.engine == engine && conv.is_product()).then_some(*limit as u64)
}

/// cuBLASLt's share of the workspace under `limit`.
pub fn workspace(conv: &Convolution, limit: u64, multiprocessors: i32) -> u64 {
    if limit == 0 {
        return 0;
    }
    if conv.op == Op::WeightGradient && conv.channels_last {
        return split(conv, limit as i64, i64::from(multiprocessors)) as u64;
    }
    persistent(conv)
}

/// A persistent kernel's counters, which large outputs get.
fn persistent(conv: &Convolution) -> u64 {
    let outputs: i64 = match conv.op {
        Op::Forward => conv.y.iter().product(),
        Op::DataGradient => conv.x.iter().product(),
        Op::WeightGradient => conv.x[0] * conv.w[0] * conv.w[1],
    };
    match (conv.op, conv.data_type == FLOAT) {
        (Op::WeightGradient, true) if outputs >= 884_736 => 400,
        (Op::WeightGradient, _) => 0,
        (_, true) if outputs >= 1_200_000 => 400,
        (_, false) if outputs >= 2_200_000 => 272,
        _ => 0,
    }
}

/// Channels-last weight gradients sum over all positions: split, a float copy of dW for each part.
fn split(conv: &Convolution, limit: i64, multiprocessors: i64) -> i64 {
    let positions = conv.x[0] * conv.x[2] * conv.x[3];
    if conv.data_type == FLOAT {
        return split_float(conv.w[0] * conv.w[1], positions, limit, multiprocessors);
    }
    let copy = round_up(conv.w[0], 32) * round_up(conv.w[1], 32) * 4;
    let tiles = round_up(conv.w[0], 128) * round_up(conv.w[1], 128) / (128 * 128);
    let parts = (positions / PART[0]).min(multiprocessors / tiles).min((limit - 272) / copy);
    if parts < 2 { 0 } else { parts * copy + 272 }
}

/// Under the small limit float products run unsplit; under the large one they take what they like.
fn split_float(outputs: i64, positions: i64, limit: i64, multiprocessors: i64) -> i64 {
    let most = multiprocessors * 3 / 2 * 128 * 128 / outputs;
    let parts = (positions / PART[1]).min(most).min(multiprocessors / 2);
    if limit <= LIMITS[1] || parts < 2 { 400 } else { parts * outputs * 4 + 256 }
}

fn round_up(channels: i64, unit: i64) -> i64 {
    (channels + unit - 1) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choice, square};
    use super::*;

    #[test]
    fn a_plan_of_cublaslt_is_known_by_its_single_knob() {
        let conv = square(Op::Forward, 32, (128, 128, 1), 28, 1, 1);
        assert_eq!(limit(&conv, &choice(58, &[(25, 1)], 0)), Some(4 << 20));
        assert_eq!(limit(&conv, &choice(58, &[(25, 0), (2, 1)], 0)), None);
        let strided = square(Op::Forward, 32, (128, 128, 1), 28, 1, 2);
        assert_eq!(limit(&strided, &choice(58, &[(25, 1)], 0)), None);
    }

    #[test]
    fn measured_shares() {
        let mut conv = square(Op::WeightGradient, 64, (512, 128, 1), 14, 1, 1);
        conv.data_type = 9;
        assert_eq!(workspace(&conv, 128 << 20, 132), 2_359_568);
        let mut conv = square(Op::Forward, 32, (128, 128, 1), 28, 1, 1);
        conv.data_type = 9;
        assert_eq!(workspace(&conv, 4 << 20, 132), 272);
        assert_eq!(workspace(&conv, 0, 132), 0);
    }
}
