//! What the libraries of this field give: kinds by qualified name, by method and by attribute.

use super::Kind;

/// What calling a library function or class gives.
pub(super) fn call(name: &str) -> Option<Kind> {
    if let Some(kind) = instance(name) {
        return Some(kind);
    }
    let (head, last) = name.rsplit_once('.')?;
    match last {
        "from_pretrained" | "from_config" | "from_single_file" | "load_from_checkpoint" => {
            return Some(pretrained(head.rsplit('.').next().unwrap_or(head)));
        }
        _ => {}
    }
    match head {
        "torch.nn.functional" => Some(if is_loss_function(last) { Kind::Loss } else { Kind::Tensor }),
        "torch.nn.utils.rnn" | "torch.linalg" | "torch.fft" | "torch.special" => Some(Kind::Tensor),
        "torch" => torch_function(last),
        "torch.hub" => (last == "load").then_some(Kind::Module),
        "torch.optim" if last.starts_with("get_") => Some(Kind::Optimizer),
        "torch.multiprocessing" | "multiprocessing" => {
            matches!(last, "Queue" | "SimpleQueue" | "JoinableQueue" | "Pipe").then_some(Kind::Queue)
        }
        "torch.utils.data" => (last == "random_split").then_some(Kind::Dataset),
        "datasets" => {
            matches!(last, "load_dataset" | "load_from_disk" | "concatenate_datasets").then_some(Kind::Dataset)
        }
        "timm" | "timm.models" => (last == "create_model").then_some(Kind::Module),
        "timm.optim" => last.starts_with("create_optimizer").then_some(Kind::Optimizer),
        "timm.scheduler" => Some(Kind::Scheduler),
        "timm.data" => (last == "create_loader").then_some(Kind::Loader),
        "peft" => (last == "get_peft_model" || last.starts_with("prepare_model")).then_some(Kind::Module),
        "transformers" if last.starts_with("get_") && last.contains("schedule") => Some(Kind::Scheduler),
        "transformers" if last == "pipeline" => Some(Kind::Pipeline),
        "torchvision.models" | "torchvision.models.detection" | "torchvision.models.segmentation" => {
            (!last.starts_with("list_") && !last.starts_with("get_")).then_some(Kind::Module)
        }
        "logging" => (last == "getLogger").then_some(Kind::Logger),
        "collections" => Some(Kind::Container),
        "safetensors.torch" => (last == "load_file").then_some(Kind::Checkpoint),
        _ if head == "numpy" || head.starts_with("numpy.") => Some(Kind::Array),
        _ if head.starts_with("torchvision.models.") => Some(Kind::Module),
        _ => None,
    }
}

/// What an instance of a library class is.
pub(super) fn instance(name: &str) -> Option<Kind> {
    let (head, last) = name.rsplit_once('.')?;
    let is_class = last.starts_with(|c: char| c.is_ascii_uppercase());
    if !is_class {
        return match name {
            "torch.autocast" | "torch.amp.autocast" | "torch.cuda.amp.autocast" => Some(Kind::Autocast),
            "torch.no_grad" | "torch.inference_mode" | "torch.autograd.no_grad" => Some(Kind::NoGrad),
            "torch.device" => Some(Kind::Device),
            "torch.dtype" => Some(Kind::Dtype),
            _ => None,
        };
    }
    Some(match head {
        "torch.nn" => match last {
            "Parameter" => Kind::Tensor,
            "ParameterList" | "ParameterDict" => Kind::Container,
            _ if last.ends_with("Loss") => Kind::Criterion,
            _ => Kind::Module,
        },
        "torch.optim.lr_scheduler" => Kind::Scheduler,
        "torch" => match last {
            "Tensor" | "FloatTensor" | "LongTensor" | "HalfTensor" | "IntTensor" | "BoolTensor" => Kind::Tensor,
            _ => return None,
        },
        "torch.autograd" => (last == "Variable").then_some(Kind::Tensor)?,
        "torch.amp" | "torch.cuda.amp" => (last == "GradScaler").then_some(Kind::Scaler)?,
        "torch.distributed.fsdp.sharded_grad_scaler" => Kind::Scaler,
        "torch.utils.data" => match last {
            "DataLoader" => Kind::Loader,
            _ if last.ends_with("Sampler") => return None,
            _ => Kind::Dataset,
        },
        "torch.utils.tensorboard" | "tensorboardX" => Kind::Logger,
        "torchdata.stateful_dataloader" => Kind::Loader,
        "torch_geometric.loader" | "torch_geometric.data" => match last.ends_with("Loader") {
            true => Kind::Loader,
            false => return None,
        },
        "accelerate" => (last == "Accelerator").then_some(Kind::Accelerator)?,
        "lightning" => match last {
            "LightningModule" => Kind::Module,
            "LightningDataModule" => return None,
            "Trainer" => Kind::LightningTrainer,
            "Fabric" => Kind::Fabric,
            _ => return None,
        },
        "trl" if last.ends_with("Trainer") => Kind::Trainer,
        "trl" if last.ends_with("Config") => Kind::TrainingArguments,
        "transformers" => transformers_class(last)?,
        "peft" if last.starts_with("Peft") => Kind::Module,
        "peft" if last.ends_with("Config") => Kind::Config,
        "diffusers" => pretrained(last),
        "deepspeed" => (last == "DeepSpeedEngine").then_some(Kind::Engine)?,
        "sentence_transformers" => (last == "SentenceTransformer").then_some(Kind::Module)?,
        "collections" => Kind::Container,
        "logging" => (last == "Logger").then_some(Kind::Logger)?,
        "bitsandbytes.optim" | "torchao.optim" | "apex.optimizers" | "deepspeed.ops.adam" => Kind::Optimizer,
        _ if is_within(head, "torch.optim") => Kind::Optimizer,
        _ if is_within(head, "torch.nn.parallel") => Kind::Module,
        _ if is_within(head, "torch.distributed.fsdp") => Kind::Module,
        _ if is_within(head, "torchvision.models") => (!last.ends_with("Weights")).then_some(Kind::Module)?,
        _ if is_within(head, "torchvision.datasets") => Kind::Dataset,
        _ if is_within(head, "torchmetrics") => Kind::Metric,
        _ => by_class_name(last)?,
    })
}

/// A class of another file or library that we do not know: its name may still say what it is.
fn by_class_name(last: &str) -> Option<Kind> {
    Some(match last {
        "PreTrainedModel" | "ModelMixin" => Kind::Module,
        _ if last.ends_with("Dataset") => Kind::Dataset,
        _ if last.ends_with("DataLoader") => Kind::Loader,
        _ if last.ends_with("Tokenizer") || last.ends_with("Processor") => Kind::Tokenizer,
        _ if last.ends_with("Optimizer") => Kind::Optimizer,
        _ => return None,
    })
}

fn transformers_class(last: &str) -> Option<Kind> {
    Some(match last {
        "Trainer" | "Seq2SeqTrainer" => Kind::Trainer,
        "TrainingArguments" | "Seq2SeqTrainingArguments" => Kind::TrainingArguments,
        "Adafactor" | "AdamW" => Kind::Optimizer,
        "PreTrainedModel" => Kind::Module,
        "TextStreamer" | "StoppingCriteria" | "LogitsProcessor" | "TrainerCallback" => return None,
        _ if last.ends_with("Cache") => return None,
        _ if last.ends_with("Config") => Kind::Config,
        _ if last.ends_with("Pipeline") => Kind::Pipeline,
        _ if is_tokenizer(last) => Kind::Tokenizer,
        _ if last.contains("Model") || last.contains("For") => Kind::Module,
        _ => return None,
    })
}

/// What `Class.from_pretrained` gives.
fn pretrained(class: &str) -> Kind {
    match class {
        _ if is_tokenizer(class) => Kind::Tokenizer,
        _ if class.ends_with("Config") => Kind::Config,
        _ if class.contains("Pipeline") => Kind::Pipeline,
        _ if class.contains("Scheduler") => Kind::Scheduler,
        _ => Kind::Module,
    }
}

fn is_tokenizer(class: &str) -> bool {
    let class = class.strip_suffix("Fast").unwrap_or(class);
    ["Tokenizer", "Processor", "FeatureExtractor", "ImageProcessor"].iter().any(|end| class.ends_with(end))
}

pub(super) fn is_loss_function(last: &str) -> bool {
    last.ends_with("loss")
        || matches!(last, "cross_entropy" | "binary_cross_entropy" | "kl_div")
        || last == "binary_cross_entropy_with_logits"
}

fn torch_function(last: &str) -> Option<Kind> {
    match last {
        "load" => Some(Kind::Checkpoint),
        "compile" | "save" | "manual_seed" | "set_grad_enabled" | "set_default_dtype" | "is_tensor" => None,
        "set_float32_matmul_precision" | "is_grad_enabled" | "enable_grad" => None,
        _ if last.starts_with(|c: char| c.is_ascii_lowercase()) => Some(Kind::Tensor),
        _ => None,
    }
}

/// Functions that give back what they got, wrapped or copied.
pub(super) fn passes_through(name: &str) -> bool {
    matches!(
        name,
        "torch.compile"
            | "torch.jit.script"
            | "torch.jit.trace"
            | "copy.deepcopy"
            | "copy.copy"
            | "torch.nn.DataParallel"
            | "torch.nn.parallel.DistributedDataParallel"
            | "torch.distributed.fsdp.FullyShardedDataParallel"
            | "torch.distributed.fsdp.fully_shard"
            | "torch.nn.SyncBatchNorm.convert_sync_batchnorm"
            | "tqdm.tqdm"
            | "tqdm.auto.tqdm"
            | "tqdm.notebook.tqdm"
    )
}

/// What a library name is when it is not called.
pub(super) fn constant(name: &str) -> Option<Kind> {
    let last = name.strip_prefix("torch.")?;
    let is_dtype = matches!(
        last,
        "float"
            | "half"
            | "double"
            | "int"
            | "long"
            | "bool"
            | "bfloat16"
            | "float16"
            | "float32"
            | "float64"
            | "uint8"
    );
    (is_dtype || last.starts_with("int") || last.starts_with("float8")).then_some(Kind::Dtype)
}

pub(super) fn builtin_type(name: &str) -> Option<Kind> {
    Some(match name {
        "int" | "float" | "bool" => Kind::Number,
        "str" => Kind::Text,
        "list" | "dict" | "tuple" | "set" | "List" | "Dict" | "Tuple" => Kind::Container,
        _ => return None,
    })
}

/// What an attribute of a known value is.
pub(super) fn attribute(owner: Kind, name: &str) -> Option<Kind> {
    Some(match (owner, name) {
        (Kind::ModelOutput, "loss") => Kind::Loss,
        (Kind::ModelOutput, _) => Kind::ModelOutput,
        (Kind::Module | Kind::Tensor | Kind::Accelerator | Kind::Fabric, "device") => Kind::Device,
        (Kind::Tensor | Kind::Module, "dtype") => Kind::Dtype,
        (owner, "data" | "grad" | "T" | "mT") if owner.is_tensor() => Kind::Tensor,
        (owner, "shape" | "ndim") if owner.is_tensor() => Kind::Number,
        (Kind::Module, "module" | "model" | "encoder" | "decoder" | "backbone" | "base_model") => Kind::Module,
        (Kind::Module | Kind::Trainer, "config") => Kind::Config,
        (Kind::Engine, "module") | (Kind::Trainer, "model") => Kind::Module,
        (Kind::Loader, "dataset") => Kind::Dataset,
        (Kind::Batch, _) => Kind::Tensor,
        _ => return None,
    })
}

/// What a method of a known value gives.
pub(super) fn method(owner: Kind, name: &str) -> Option<Kind> {
    Some(match (owner, name) {
        (Kind::Module | Kind::Criterion | Kind::Pipeline | Kind::Metric | Kind::Engine, name)
            if KEEPS_MODULE.contains(&name) =>
        {
            owner
        }
        (Kind::Module | Kind::Engine, "parameters" | "buffers" | "named_parameters" | "named_buffers") => {
            Kind::Parameters
        }
        (Kind::Module, "modules" | "children" | "named_modules" | "named_children") => Kind::Container,
        (Kind::Module | Kind::Optimizer | Kind::Scheduler | Kind::Scaler, "state_dict") => Kind::StateDict,
        (Kind::Module | Kind::Engine, name) if MODEL_CALLS.contains(&name) => Kind::ModelOutput,
        (Kind::Module, "generate") => Kind::Tensor,
        (Kind::Module, "get_input_embeddings" | "get_output_embeddings" | "get_submodule") => Kind::Module,
        (Kind::Criterion, "forward") => Kind::Loss,
        (owner, "item") if owner.is_tensor() || owner == Kind::Array => Kind::Number,
        (owner, "tolist") if owner.is_tensor() || owner == Kind::Array => Kind::Container,
        (owner, "size" | "dim" | "numel" | "nelement" | "ndimension") if owner.is_tensor() => Kind::Number,
        (owner, "numpy") if owner.is_tensor() => Kind::Array,
        (owner, "backward") if owner.is_tensor() => Kind::None,
        (Kind::Loss, _) => Kind::Loss,
        (Kind::Batch, "to" | "cuda" | "pin_memory" | "cpu") => Kind::Batch,
        (Kind::Batch, "items" | "values" | "keys") => Kind::Container,
        (Kind::ModelOutput, "to_tuple") => Kind::ModelOutput,
        (Kind::Tensor | Kind::Batch, _) => Kind::Tensor,
        (Kind::ModelOutput, _) => Kind::Tensor,
        (Kind::Array, _) => Kind::Array,
        (Kind::StateDict, "items" | "values") => Kind::StateDict,
        (Kind::Accelerator | Kind::Fabric, "autocast") => Kind::Autocast,
        (Kind::Accelerator, "gather" | "gather_for_metrics" | "reduce" | "pad_across_processes") => Kind::Tensor,
        (Kind::Accelerator, "unwrap_model") => Kind::Module,
        (Kind::Accelerator, "clip_grad_norm_") => Kind::Tensor,
        (Kind::Metric, "compute") => Kind::Tensor,
        (Kind::Dataset, "map" | "select" | "shuffle" | "filter" | "with_format" | "take" | "skip") => Kind::Dataset,
        (Kind::Tokenizer, "pad" | "batch_encode_plus" | "encode_plus" | "apply_chat_template") => Kind::Batch,
        (Kind::Tokenizer, "decode") => Kind::Text,
        (Kind::Container, "append" | "extend" | "clear" | "insert" | "update") => Kind::None,
        (Kind::Text, "format" | "join" | "strip") => Kind::Text,
        _ => return None,
    })
}

/// Methods of a module that give the module itself.
pub(super) const KEEPS_MODULE: &[&str] = &[
    "to",
    "cuda",
    "cpu",
    "half",
    "float",
    "double",
    "bfloat16",
    "eval",
    "train",
    "requires_grad_",
    "apply",
    "to_empty",
    "share_memory",
    "xpu",
    "npu",
];

/// Methods of a module that run it.
const MODEL_CALLS: &[&str] = &[
    "forward",
    "encode",
    "decode",
    "encoder",
    "decoder",
    "module",
    "features",
    "forward_features",
    "get_text_features",
    "get_image_features",
    "training_step",
    "validation_step",
    "extract_features",
    "compute_loss",
    "forward_head",
];

fn is_within(name: &str, module: &str) -> bool {
    name.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_objects_have_kinds() {
        for (name, kind) in [
            ("torch.optim.AdamW", Kind::Optimizer),
            ("torch.optim.lr_scheduler.StepLR", Kind::Scheduler),
            ("torch.nn.CrossEntropyLoss", Kind::Criterion),
            ("torch.nn.Linear", Kind::Module),
            ("torch.nn.functional.cross_entropy", Kind::Loss),
            ("torch.nn.functional.relu", Kind::Tensor),
            ("transformers.AutoTokenizer.from_pretrained", Kind::Tokenizer),
            ("transformers.AutoModelForCausalLM.from_pretrained", Kind::Module),
            ("diffusers.StableDiffusionPipeline.from_pretrained", Kind::Pipeline),
            ("torchvision.models.resnet50", Kind::Module),
            ("torch.load", Kind::Checkpoint),
            ("torch.zeros", Kind::Tensor),
            ("lightning.Trainer", Kind::LightningTrainer),
            ("torch.amp.GradScaler", Kind::Scaler),
        ] {
            assert_eq!(call(name), Some(kind), "{name}");
        }
    }

    #[test]
    fn a_tokenizer_is_not_a_model() {
        assert_eq!(instance("transformers.LlamaTokenizerFast"), Some(Kind::Tokenizer));
        assert_eq!(call("transformers.CLIPProcessor.from_pretrained"), Some(Kind::Tokenizer));
    }
}
