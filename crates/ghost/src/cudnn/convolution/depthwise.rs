//! Depthwise kernels that cuDNN lists on a card only.
//!
//! On the card engines 5 (forward), 6 (data gradient), 16 and 19 (weight gradient) come first for
//! most depthwise convolutions in half precision. All but 16 channels-last need no workspace. The
//! heuristics' reasons are not visible; the conditions below separate the measured cases.

use super::{Choice, Convolution, FLOAT, Op};

/// Thread blocks that engine 16 lets share an image, each with its own sums (all 140 cases).
const PARTIAL_SUMS_PER_IMAGE: i64 = 8;

/// What the card asks for where the deviceless plan is `choice`.
pub fn workspace(conv: &Convolution, choice: &Choice) -> u64 {
    if conv.data_type == FLOAT {
        return choice.workspace;
    }
    match (conv.op, conv.channels_last) {
        (Op::Forward, _) => 0,
        (Op::DataGradient, _) if keeps_data_gradient(conv, choice) => choice.workspace,
        (Op::DataGradient, _) => 0,
        (Op::WeightGradient, false) if keeps_planar_weight_gradient(conv, choice) => choice.workspace,
        (Op::WeightGradient, false) => 0,
        (Op::WeightGradient, true) if keeps_weight_gradient(conv, choice) => choice.workspace,
        (Op::WeightGradient, true) => partial_sums(conv),
    }
}

fn keeps_data_gradient(conv: &Convolution, choice: &Choice) -> bool {
    let channels = conv.x[1];
    match choice.engine {
        62 if conv.channels_last => choice.knob(2) != Some(2) && channels >= 100 && conv.x[0] >= 8,
        62 => conv.w[2] == 5 && channels >= 1152,
        22 | 40 => false,
        _ => true,
    }
}

fn keeps_planar_weight_gradient(conv: &Convolution, choice: &Choice) -> bool {
    let (stride, size) = (conv.stride[0], conv.x[2]);
    match choice.engine {
        61 => stride == 2 || size >= 112,
        10 => stride == 2 && conv.x[1] <= 24,
        9 => false,
        _ => true,
    }
}

fn keeps_weight_gradient(conv: &Convolution, choice: &Choice) -> bool {
    let (stride, size) = (conv.stride[0], conv.x[2]);
    match choice.engine {
        61 => match choice.knob(2) {
            Some(4 | 5) => size > 28,
            Some(1) => stride != 2 || size > 14,
            _ => true,
        },
        10 => conv.w[2] == 5 && conv.y[2] == 7 && stride == 2,
        9 => false,
        // Engine 19 (no workspace) takes the small ones, as the deviceless engine 0 does.
        0 => conv.y[0] * conv.y[2] * conv.y[3] < 784,
        _ => true,
    }
}

/// Engine 16, channels-last: float sums of the filters, channels rounded up to 32.
fn partial_sums(conv: &Convolution) -> u64 {
    let channels = (conv.w[0] + 31) / 32 * 32;
    (channels * conv.taps() * 4 * conv.x[0] * PARTIAL_SUMS_PER_IMAGE) as u64
}

#[cfg(test)]
mod tests {
    use super::super::BFLOAT16;
    use super::super::tests::{choice, square};
    use super::*;

    #[test]
    fn forward_and_data_gradient_need_nothing() {
        let mut conv = square(Op::Forward, 64, (16, 16, 16), 112, 3, 2);
        conv.data_type = 2;
        assert_eq!(workspace(&conv, &choice(57, &[(2, 3), (17, 660)], 32_113_470)), 0);
        let mut conv = square(Op::DataGradient, 64, (672, 672, 672), 14, 5, 1);
        (conv.data_type, conv.channels_last) = (2, false);
        assert_eq!(workspace(&conv, &choice(62, &[(2, 4), (17, 24)], 33_785_694)), 0);
    }

    #[test]
    fn weight_gradient_sums_per_image() {
        let mut conv = square(Op::WeightGradient, 16, (120, 120, 120), 14, 5, 1);
        conv.data_type = 2;
        assert_eq!(workspace(&conv, &choice(61, &[(2, 4), (12, 33), (17, 66)], 276_766)), 1_638_400);
        let mut conv = square(Op::WeightGradient, 64, (960, 960, 960), 7, 5, 1);
        conv.data_type = BFLOAT16;
        assert_eq!(workspace(&conv, &choice(9, &[(2, 5)], 48_936_976)), 49_152_000);
    }
}
