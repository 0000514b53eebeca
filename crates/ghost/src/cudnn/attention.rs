//! Attention graphs: their plans cannot be built without a card, but what they ask for is known.
//!
//! Measured on an H200 with cuDNN 9.19 (2026-11-15; 34 graphs, forward and backward, in bf16 and
//! fp16: causal or not, dropout, masks, grouped heads, cross lengths, head sizes 32 to 256): every
//! plan asks for the same 256 bytes. The buffers that grow with the shapes are cuDNN's frontend's,
//! which PyTorch compiles in and which runs unchanged.

use super::descriptors::{Descriptor, kind};

/// What every attention plan asks for.
pub const WORKSPACE: i64 = 256;

/// Whether these operations are attention: two matrix products forward, five backward, or the one-node operations.
pub fn is_attention(operations: &[Descriptor]) -> bool {
    let products = operations.iter().filter(|op| op.kind == kind::MATMUL).count();
    let is_single = |op: &Descriptor| [kind::ATTENTION_FORWARD, kind::ATTENTION_BACKWARD].contains(&op.kind);
    products >= 2 || operations.iter().any(is_single)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(kinds: &[i32]) -> Vec<Descriptor> {
        kinds.iter().map(|&kind| Descriptor { kind, ..Default::default() }).collect()
    }

    #[test]
    fn two_products_are_attention_and_a_convolution_is_not() {
        assert!(is_attention(&graph(&[kind::MATMUL, 13, 22, kind::MATMUL])));
        assert!(is_attention(&graph(&[kind::ATTENTION_BACKWARD])));
        assert!(!is_attention(&graph(&[kind::CONVOLUTION_FORWARD])));
        assert!(!is_attention(&graph(&[kind::MATMUL])));
    }
}
