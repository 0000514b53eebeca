//! The arithmetic that an operator uses on a card, and its peak there.

use gpus::Card;
use serde::Deserialize;

use super::costs::{Row, Tf32};
use super::kind::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Arithmetic {
    Fp32,
    Tf32,
    /// float16 and bfloat16.
    Half,
}

/// Cards before Ampere have no bfloat16 arithmetic: libraries convert it, and reach less than with float32. Half of it on
/// a T4, others measured (https://github.com/jax-ml/jax/issues/21212); taken for all of them.
const EMULATED_BF16: f64 = 0.5;
/// float64 on cards that are not made for it, relative to float32 (CUDA C++ programming guide, arithmetic throughput).
const FP64: f64 = 1.0 / 64.0;
const FP64_DATA_CENTER: f64 = 1.0 / 2.0;

/// The arithmetic and TFLOP/s.
pub(super) fn of(row: &Row, kind: Kind, tf32: Tf32, card: &Card) -> (Arithmetic, f64) {
    let speed = &card.throughput;
    let allowed = if kind.is_cudnn() { tf32.cudnn } else { tf32.matmul };
    match (row.dtype.as_deref(), speed.tf32) {
        (Some("bfloat16"), _) => match speed.bf16 {
            Some(bf16) => (Arithmetic::Half, bf16),
            None => (Arithmetic::Fp32, speed.fp32 * EMULATED_BF16),
        },
        (Some("float16"), _) => match speed.fp16 {
            Some(fp16) => (Arithmetic::Half, fp16),
            None => (Arithmetic::Fp32, speed.fp32),
        },
        (Some("float64"), _) => (Arithmetic::Fp32, speed.fp32 * fp64_share(card)),
        (Some("float32"), Some(tf32)) if allowed && !is_attention(kind) => (Arithmetic::Tf32, tf32),
        (Some("float32") | None, _) => (Arithmetic::Fp32, speed.fp32),
        // 8 bits and fewer: never slower than half precision.
        (Some(_), _) => (Arithmetic::Half, speed.fp16.unwrap_or(speed.fp32)),
    }
}

fn fp64_share(card: &Card) -> f64 {
    let full = matches!((card.compute.major, card.compute.minor), (6 | 7 | 8 | 10, 0) | (9, 0));
    if full { FP64_DATA_CENTER } else { FP64 }
}

/// Attention kernels choose their own arithmetic, whatever is allowed for products.
fn is_attention(kind: Kind) -> bool {
    matches!(kind, Kind::Attention | Kind::AttentionBackward)
}
