//! What was seen of the unmodified script while it ran: the Python side's `script` event.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A script as it trains.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Script {
    pub framework: Framework,
    /// Root models that were called in a training step.
    pub models: Vec<Model>,
    pub optimizers: Vec<Optimizer>,
    /// Data loaders that were gone through.
    pub loaders: Vec<Loader>,
    /// Whole-number options of the command line.
    pub arguments: Vec<Argument>,
    #[serde(rename = "loop")]
    pub training: Loop,
    pub batch: Batch,
    pub loss: Option<Loss>,
    /// Packages that remedies may need, with their versions; `None` where not installed.
    pub packages: BTreeMap<String, Option<String>>,
    /// `PYTORCH_CUDA_ALLOC_CONF` or its successor, as it was set.
    pub alloc_conf: Option<String>,
    pub compiled: bool,
    pub ranks: u64,
    /// The shapes of the inputs differ between steps.
    pub varies: bool,
    /// Modules of libraries that were imported while the script ran.
    pub modules: Vec<String>,
    /// `{batch:64}` in the command that the user typed. Filled by the command, not by the event.
    #[serde(skip)]
    pub placeholders: Vec<Placeholder>,
    /// Attention written out by hand, which materialises its scores. Filled by [`crate::look`].
    #[serde(skip)]
    pub eager_attention: Vec<Place>,
}

/// A whole number of the command that may be changed: `{batch:64}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placeholder {
    pub name: String,
    pub value: u64,
    /// Which argument of the script it stands in.
    pub argument: usize,
    /// That argument, with `{}` where the number goes: `--rows={}`.
    pub template: String,
}

/// Who owns the training loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framework {
    #[default]
    Plain,
    Trainer,
    Lightning,
    Accelerate,
}

/// A line of the user's code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Place {
    pub file: String,
    pub line: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Model {
    pub class: String,
    pub module: String,
    pub made_at: Option<Place>,
    /// Where the model under the adapters is made, if it has adapters.
    pub base_made_at: Option<Place>,
    pub parameters: u64,
    pub bytes: u64,
    pub trainable: u64,
    /// Bytes of parameters by their dtype.
    pub dtypes: BTreeMap<String, u64>,
    pub huggingface: bool,
    pub timm: bool,
    pub peft: bool,
    pub batch_norm: bool,
    /// The attention of a Hugging Face model: `eager`, `sdpa`, ...
    pub attention: Option<String>,
    /// Activation checkpointing is on already.
    pub checkpointing: bool,
    pub quantized: bool,
    /// Modules of one class that stand in a row; the ones with the most of the model first.
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Block {
    pub class: String,
    pub module: String,
    /// The path of what holds them: `blocks`, `encoder.layers`.
    pub container: String,
    pub count: u64,
    /// How often they were called in a step, all together.
    pub calls: u64,
    pub defined_at: Option<Place>,
    /// Bytes of parameters of each.
    pub bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Optimizer {
    pub class: String,
    pub module: String,
    pub made_at: Option<Place>,
    pub groups: u64,
    pub parameters: u64,
    pub parameter_bytes: u64,
    pub state_bytes: u64,
    pub foreach: Option<bool>,
    pub fused: Option<bool>,
    pub steps: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Loader {
    pub batch_size: Option<u64>,
    pub made_at: Option<Place>,
    pub items: Option<u64>,
    pub drop_last: bool,
    /// Its batches went into training steps, not only into evaluation.
    pub training: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Argument {
    pub flag: String,
    pub name: String,
    pub value: i64,
    pub role: Option<Role>,
    /// It stood on the command line; otherwise the value is the default.
    #[serde(default)]
    pub given: bool,
}

/// What an option of the command line seems to be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Batch,
    Accumulate,
    Sequence,
    Image,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Loop {
    pub backward_at: Option<Place>,
    pub step_at: Option<Place>,
    pub zero_grad_at: Option<Place>,
    pub backwards_per_step: u64,
    pub clips: bool,
    pub scaler: bool,
    /// `float16` or `bfloat16`.
    pub autocast: Option<String>,
    pub set_to_none: Option<bool>,
    /// `false`: a model in evaluation mode was called with gradients on.
    pub no_grad_eval: Option<bool>,
    /// What is trained is in evaluation mode, in which `from_pretrained` leaves a model.
    pub eval_mode: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Batch {
    /// The first dimension of what the model was called with.
    pub rows: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Loss {
    pub cross_entropy: bool,
    /// Rows and classes.
    pub logits: Option<(u64, u64)>,
    pub at: Option<Place>,
}
