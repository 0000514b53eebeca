//! Kinds of operators: those whose kernels reach about the same of a card's peak.

use serde::Deserialize;

use super::costs::Row;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Matmul,
    /// Many small products at once.
    BatchedMatmul,
    Convolution,
    ConvolutionLast,
    ConvolutionBackward,
    ConvolutionBackwardLast,
    Attention,
    AttentionBackward,
    Rnn,
    RnnBackward,
    /// Layer, group and batch norms.
    Norm,
    NormBackward,
    BatchNorm,
    BatchNormLast,
    BatchNormBackward,
    BatchNormBackwardLast,
    Softmax,
    SoftmaxBackward,
    Dropout,
    /// Copies, then fills where the mask says.
    Masked,
    /// From half precision to another type: half the vector width of the way back.
    Cast,
    Pool,
    PoolBackward,
    /// Sums of gradients by index, which sort first.
    EmbeddingBackward,
    Reduction,
    /// Copies that change the layout, concatenations.
    Copy,
    /// Lists of tensors at once: optimizers.
    Foreach,
    /// Each element by itself.
    Elementwise,
}

impl Kind {
    pub fn of(row: &Row) -> Kind {
        let name = row.name();
        let backward = name.ends_with("_backward");
        let last = row.layout.is_some();
        match name {
            "mm" | "addmm" | "_addmm_activation" | "_scaled_mm" | "_int_mm" | "mv" | "addmv" => Kind::Matmul,
            "bmm" | "baddbmm" => Kind::BatchedMatmul,
            "_cudnn_rnn" => Kind::Rnn,
            "_cudnn_rnn_backward" => Kind::RnnBackward,
            "embedding_dense_backward" => Kind::EmbeddingBackward,
            "sum" | "mean" | "amax" | "amin" | "linalg_vector_norm" | "norm" | "var_mean" | "argmax" => Kind::Reduction,
            "masked_fill" | "masked_fill_" => Kind::Masked,
            "_to_copy" if matches!(row.dtype.as_deref(), Some("bfloat16" | "float16")) => Kind::Cast,
            "clone" | "copy_" | "cat" | "stack" | "constant_pad_nd" => Kind::Copy,
            _ if name.contains("convolution") => match (backward, last) {
                (false, false) => Kind::Convolution,
                (false, true) => Kind::ConvolutionLast,
                (true, false) => Kind::ConvolutionBackward,
                (true, true) => Kind::ConvolutionBackwardLast,
            },
            _ if name.contains("batch_norm") => match (backward, last) {
                (false, false) => Kind::BatchNorm,
                (false, true) => Kind::BatchNormLast,
                (true, false) => Kind::BatchNormBackward,
                (true, true) => Kind::BatchNormBackwardLast,
            },
            _ if name.contains("attention") && backward => Kind::AttentionBackward,
            _ if name.contains("attention") => Kind::Attention,
            _ if name.contains("norm") && backward => Kind::NormBackward,
            _ if name.contains("layer_norm") || name.contains("group_norm") || name.contains("rms_norm") => Kind::Norm,
            _ if name.contains("softmax_backward") => Kind::SoftmaxBackward,
            _ if name.contains("softmax") => Kind::Softmax,
            _ if name.contains("dropout") => Kind::Dropout,
            _ if name.contains("pool") && backward => Kind::PoolBackward,
            _ if name.contains("pool") => Kind::Pool,
            _ if name.starts_with("_foreach") || name.starts_with("_fused") || name.starts_with("_amp") => {
                Kind::Foreach
            }
            _ => Kind::Elementwise,
        }
    }

    /// Whether launching it takes the host longer than other kernels.
    pub fn is_planned(self) -> bool {
        use Kind::{BatchNorm, BatchNormBackward, BatchNormBackwardLast, BatchNormLast};
        let convolution = self.is_cudnn() && !matches!(self, Kind::Rnn | Kind::RnnBackward);
        convolution || matches!(self, BatchNorm | BatchNormLast | BatchNormBackward | BatchNormBackwardLast)
    }

    /// Whether cuDNN computes it, which has its own say on TF32.
    pub fn is_cudnn(self) -> bool {
        use Kind::{Convolution, ConvolutionBackward, ConvolutionBackwardLast, ConvolutionLast, Rnn, RnnBackward};
        matches!(
            self,
            Convolution | ConvolutionLast | ConvolutionBackward | ConvolutionBackwardLast | Rnn | RnnBackward
        )
    }
}
