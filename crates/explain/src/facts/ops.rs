//! Operators, as far as they tell one cause from another.

/// What an allocation is the result of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// A softmax or its gradient.
    Softmax,
    /// A log-softmax, a cross-entropy, or the gradient of one.
    Loss,
    /// A product of batches of matrices: attention scores, mostly.
    BatchedMatmul,
    /// A product with a weight: linear layers.
    Matmul,
    /// Memory filled with a constant or with random numbers.
    Factory,
    /// A copy to another device or type.
    Transfer,
    Clone,
    Concatenate,
    /// Anything elementwise or else.
    Other,
    /// No operator is visible.
    Unknown,
}

impl Op {
    /// From names of operators and backward nodes, innermost first. The outermost known one says what the user wanted.
    pub fn of<'a>(names: impl Iterator<Item = &'a str>) -> Op {
        let mut op = Op::Unknown;
        for name in names {
            let known = Op::named(name);
            if !PLUMBING.contains(&name) && (known != Op::Other || op == Op::Unknown || op == Op::Factory) {
                op = known;
            }
        }
        op
    }

    fn named(name: &str) -> Op {
        match name {
            "_softmax"
            | "softmax"
            | "softmax_int"
            | "SoftmaxBackward"
            | "_softmax_backward_data"
            | "_scaled_dot_product_attention_math"
            | "_safe_softmax" => Op::Softmax,
            "_log_softmax"
            | "log_softmax"
            | "log_softmax_int"
            | "cross_entropy"
            | "cross_entropy_loss"
            | "nll_loss"
            | "nll_loss_forward"
            | "nll_loss_nd"
            | "LogSoftmaxBackward"
            | "NllLossBackward"
            | "kl_div"
            | "_log_softmax_backward_data"
            | "nll_loss_backward" => Op::Loss,
            "bmm" | "baddbmm" | "BmmBackward" | "BaddbmmBackward" => Op::BatchedMatmul,
            "mm" | "addmm" | "linear" | "MmBackward" | "AddmmBackward" => Op::Matmul,
            "clone" => Op::Clone,
            "cat" => Op::Concatenate,
            "_to_copy" | "copy_" | "to_copy" => Op::Transfer,
            _ if FACTORIES.iter().any(|part| name.starts_with(part)) => Op::Factory,
            _ => Op::Other,
        }
    }

    /// Results of these are data as the user made or moved it, when no model is at work.
    pub fn makes_data(self) -> bool {
        matches!(self, Op::Factory | Op::Transfer | Op::Clone | Op::Concatenate | Op::Unknown)
    }
}

/// Operators that only pass an allocation on.
const PLUMBING: [&str; 14] = [
    "empty_memory_format",
    "empty_strided",
    "empty_like",
    "resize_",
    "to_dtype_layout",
    "to_device",
    "to_dtype",
    "contiguous",
    "reshape",
    "matmul",
    "einsum",
    "_unsafe_view",
    "AccumulateGrad",
    "as_strided",
];
const FACTORIES: [&str; 9] = ["zeros", "ones", "full", "rand", "new_", "arange", "eye", "tril", "fill"];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Op {
        Op::of(names.iter().copied())
    }

    #[test]
    fn the_outermost_known_operator_counts() {
        assert_eq!(of(&["empty_memory_format", "_log_softmax", "log_softmax_int", "cross_entropy_loss"]), Op::Loss);
        assert_eq!(of(&["empty_strided", "_to_copy", "to_dtype_layout"]), Op::Transfer);
        assert_eq!(of(&["empty_memory_format", "empty_like", "clone", "contiguous"]), Op::Clone);
        assert_eq!(of(&["bmm", "matmul"]), Op::BatchedMatmul);
        assert_eq!(of(&["empty_memory_format", "randn"]), Op::Factory);
        assert_eq!(of(&["empty_memory_format"]), Op::Unknown);
        assert_eq!(of(&["mul_Tensor"]), Op::Other);
        assert_eq!(of(&[]), Op::Unknown);
    }

    #[test]
    fn gradients_of_operators_are_of_their_kind() {
        assert_eq!(of(&["mul_Tensor", "SoftmaxBackward"]), Op::Softmax);
        assert_eq!(of(&["mm", "AddmmBackward"]), Op::Matmul);
        assert_eq!(of(&["zeros", "NllLossBackward"]), Op::Loss);
    }
}
