//! What a step is made of, as the Python side wrote it (`python/oomph/costs.py`).

use serde::Deserialize;

/// The operations of one optimizer step, with all its micro-batches.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Costs {
    /// Which step; the first is not like the others.
    pub step: u64,
    pub rows: Vec<Row>,
    pub transfers: Transfers,
    pub tf32: Tf32,
    /// The script compiles its model, and was counted as it is before that.
    pub compiled: bool,
}

/// Calls of one operator that do the same amount of work.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    pub op: String,
    /// The type that it computes in, where that is a floating-point type.
    pub dtype: Option<String>,
    pub flops: u64,
    /// Read and written.
    pub bytes: u64,
    pub count: u64,
    /// Whether something runs on the device.
    pub kernel: bool,
    /// Kernels of one call that have to follow each other.
    #[serde(default = "one")]
    pub launches: u64,
    /// Tensors of one call, where it takes lists.
    #[serde(default = "one")]
    pub tensors: u64,
    /// `cpu` where the host computes it.
    pub device: Option<String>,
    /// `channels_last` where the input lies so.
    pub layout: Option<String>,
    /// The host computes it after it has given the device something to do.
    #[serde(default)]
    pub beside: bool,
    /// Between two waits for the device that follow each other so closely that the host cannot run ahead.
    #[serde(default)]
    pub short: bool,
}

impl Row {
    /// The operator's name without its library.
    pub(super) fn name(&self) -> &str {
        self.op.rsplit('.').next().unwrap_or(&self.op)
    }

    /// Whether it makes random numbers, which on the host come one after the other.
    pub(super) fn is_drawn(&self) -> bool {
        let name = self.name().trim_end_matches("_like").trim_end_matches('_');
        matches!(name, "randn" | "rand" | "randint" | "normal" | "uniform" | "random" | "bernoulli" | "exponential")
    }

    pub(super) fn element_bytes(&self) -> f64 {
        match self.dtype.as_deref() {
            Some("float32") => 4.0,
            Some("float16" | "bfloat16") => 2.0,
            // float64, and what is no floating-point number: int64, mostly.
            _ => 8.0,
        }
    }
}

fn one() -> u64 {
    1
}

/// What went between host and device.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Transfers {
    pub host_to_device_bytes: u64,
    pub device_to_host_bytes: u64,
    /// How much of both was from or to pinned memory.
    pub pinned_bytes: u64,
    /// How much of both was on a stream of its own.
    pub aside_bytes: u64,
    pub copies: u64,
    /// How often the host waited for the device.
    pub syncs: u64,
}

/// Whether float32 may be rounded to TF32. PyTorch's defaults: not in products, but in cuDNN.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Tf32 {
    pub matmul: bool,
    pub cudnn: bool,
}

impl Default for Tf32 {
    fn default() -> Self {
        Tf32 { matmul: false, cudnn: true }
    }
}
