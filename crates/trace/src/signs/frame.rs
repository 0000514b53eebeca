//! What single frames are signs of, by the names of their functions and files.

use crate::who::{forward_slashes, is_library, is_python};
use crate::{FrameId, Recording};

/// A set of signs of one frame.
pub(super) type Signs = u32;

pub(super) const PYTHON: Signs = 1;
pub(super) const USER: Signs = 1 << 1;
/// A module's forward is called.
pub(super) const MODULE: Signs = 1 << 2;
pub(super) const BACKWARD: Signs = 1 << 3;
pub(super) const OPTIMIZER: Signs = 1 << 4;
pub(super) const SAVE: Signs = 1 << 5;
pub(super) const EVAL: Signs = 1 << 6;
/// `@torch.no_grad()`, `@torch.inference_mode()`.
pub(super) const NO_GRAD: Signs = 1 << 7;
/// Where a Python thread begins: the autograd engine's threads begin elsewhere.
pub(super) const ROOT: Signs = 1 << 8;
/// `Module._apply`: `.to()`, `.cuda()`, `.half()` of a whole model.
pub(super) const APPLY: Signs = 1 << 9;
/// A model is built or its weights are loaded.
pub(super) const BUILD: Signs = 1 << 10;
/// An optimizer makes its state.
pub(super) const STATE: Signs = 1 << 11;
/// Inside an optimizer's file.
pub(super) const OPTIM_FILE: Signs = 1 << 12;
/// Gradients are clipped or unscaled.
pub(super) const GRADIENT_CARE: Signs = 1 << 13;
/// A batch is moved to the card.
pub(super) const BATCH: Signs = 1 << 14;
/// C++: a tensor is made from nothing, or copied to the card, as a user's line asked for.
pub(super) const FACTORY: Signs = 1 << 15;
/// C++: the allocator itself, or the recorder in it.
pub(super) const ALLOCATOR: Signs = 1 << 16;
/// C++: makes a tensor's storage.
pub(super) const STORAGE: Signs = 1 << 17;
/// C++: a library's workspace.
pub(super) const WORKSPACE: Signs = 1 << 18;
/// C++: `clone`.
pub(super) const CLONE: Signs = 1 << 19;
/// Gradients are dropped: the backward pass is over, although nothing new was allocated.
pub(super) const ZERO_GRAD: Signs = 1 << 20;

/// Python frames, by the end of their file and their function.
const PYTHON_SIGNS: &[(&str, &str, Signs)] = &[
    ("torch/nn/modules/module.py", "_call_impl", MODULE),
    ("torch/nn/modules/module.py", "_wrapped_call_impl", MODULE),
    ("torch/nn/modules/module.py", "_slow_forward", MODULE),
    ("torch/nn/modules/module.py", "_apply", APPLY),
    ("torch/autograd/__init__.py", "backward", BACKWARD),
    ("torch/autograd/__init__.py", "grad", BACKWARD),
    ("torch/autograd/graph.py", "_engine_run_backward", BACKWARD),
    ("torch/utils/checkpoint.py", "unpack_hook", BACKWARD),
    ("torch/optim/optimizer.py", "wrapper", OPTIMIZER),
    ("torch/amp/grad_scaler.py", "step", OPTIMIZER),
    ("torch/amp/grad_scaler.py", "unscale_", OPTIMIZER | GRADIENT_CARE),
    ("torch/amp/grad_scaler.py", "update", OPTIMIZER | GRADIENT_CARE),
    ("torch/nn/utils/clip_grad.py", "clip_grad_norm_", OPTIMIZER | GRADIENT_CARE),
    ("torch/nn/utils/clip_grad.py", "clip_grad_value_", OPTIMIZER | GRADIENT_CARE),
    ("torch/optim/optimizer.py", "zero_grad", ZERO_GRAD),
    ("torch/nn/modules/module.py", "zero_grad", ZERO_GRAD),
    ("torch/utils/_contextlib.py", "decorate_context", NO_GRAD),
    ("torch/serialization.py", "save", SAVE),
    ("safetensors/torch.py", "save_file", SAVE),
    ("safetensors/torch.py", "save_model", SAVE),
    ("torch/distributed/checkpoint/state_dict_saver.py", "save", SAVE),
    ("accelerate/utils/operations.py", "send_to_device", BATCH),
    ("lightning/pytorch/trainer/call.py", "_call_batch_to_device", BATCH),
    ("lightning_fabric/utilities/apply_func.py", "move_data_to_device", BATCH),
    ("lightning/fabric/utilities/apply_func.py", "move_data_to_device", BATCH),
];

/// Python functions that mean the same in every file.
const FUNCTION_SIGNS: &[(&str, Signs)] = &[
    ("save_pretrained", SAVE),
    ("save_checkpoint", SAVE),
    ("_save_checkpoint", SAVE),
    ("save_model", SAVE),
    ("dump_checkpoint", SAVE),
    ("evaluate", EVAL),
    ("evaluation_loop", EVAL),
    ("prediction_step", EVAL),
    ("validation_step", EVAL),
    ("test_step", EVAL),
    ("predict_step", EVAL),
    ("_run_sanity_check", EVAL),
    ("_evaluation_step", EVAL),
    ("<module>", ROOT),
    ("_bootstrap", ROOT),
    ("_run_module_as_main", ROOT),
    ("from_pretrained", BUILD),
    ("load_state_dict", BUILD),
    ("_load_pretrained_model", BUILD),
    ("reset_parameters", BUILD),
    ("_prepare_inputs", BATCH),
    ("_prepare_input", BATCH),
    ("batch_to_device", BATCH),
    ("to_device", BATCH),
];

/// Functions of optimizers that make their state (torch, bitsandbytes, transformers, apex).
const STATE_FUNCTIONS: &[&str] =
    &["_init_group", "_init_state", "init_state", "init_state_8bit", "get_state_buffer", "_get_state", "init_group"];

/// C++ frames, by how their name begins.
const NATIVE_SIGNS: &[(&str, Signs)] = &[
    ("torch::autograd::Engine::", BACKWARD),
    ("torch::autograd::python::PythonEngine::", BACKWARD),
    ("torch::unwind", ALLOCATOR),
    ("torch::CapturedTraceback", ALLOCATOR),
    ("torch::cuda::(anonymous namespace)::gather", ALLOCATOR),
    ("c10::cuda::CUDACachingAllocator", ALLOCATOR),
    ("at::detail::empty", STORAGE),
    ("at::native::resize", STORAGE),
    ("c10::StorageImpl", STORAGE),
    ("at::cuda::setWorkspaceForHandle", WORKSPACE),
    ("at::cuda::getCUDABlasLtWorkspace", WORKSPACE),
    ("at::cuda::getCurrentCUDABlasHandle", WORKSPACE),
    ("at::cuda::getNewWorkspace", WORKSPACE),
    ("at::_ops::clone::call", CLONE),
];

/// Python-level functions that bring tensors into being, `torch::autograd::THPVariable_<name>`.
const FACTORIES: &[&str] = &[
    "cuda",
    "to",
    "empty",
    "zeros",
    "ones",
    "full",
    "rand",
    "randn",
    "randint",
    "randperm",
    "arange",
    "tensor",
    "as_tensor",
    "from_numpy",
    "empty_like",
    "zeros_like",
    "ones_like",
    "rand_like",
    "randn_like",
    "full_like",
    "linspace",
    "eye",
    "normal",
    "new_empty",
    "new_zeros",
    "new_ones",
    "new_full",
    "empty_strided",
];

pub(super) fn frame_signs(recording: &Recording, id: FrameId) -> Signs {
    let frame = recording.frames.get(id);
    let (function, file) = (recording.names.get(frame.function), recording.names.get(frame.file));
    if is_python(file) { python_signs(function, &forward_slashes(file)) } else { native_signs(function) }
}

fn python_signs(function: &str, file: &str) -> Signs {
    let users = !is_library(file);
    let mut signs = PYTHON | if users { USER } else { 0 };
    let named = PYTHON_SIGNS.iter().filter(|(end, name, _)| *name == function && ends_with_path(file, end));
    signs |= named.fold(0, |all, (_, _, sign)| all | sign);
    signs |= FUNCTION_SIGNS.iter().filter(|(name, _)| *name == function).fold(0, |all, (_, sign)| all | sign);
    if users && evaluates(function) {
        signs |= EVAL;
    }
    if function == "__init__" && ends_with_folder(file, "torch/nn") {
        signs |= BUILD;
    }
    signs | optimizer_signs(function, file, users)
}

fn optimizer_signs(function: &str, file: &str, users: bool) -> Signs {
    let file_says = !users && file.contains("optim");
    let in_torch = ends_with_folder(file, "torch");
    let foreign_step = file_says && !in_torch && function == "step";
    let state = STATE_FUNCTIONS.contains(&function) && (file_says || users);
    let inside = file_says && function != "wrapper" && file.split('/').any(is_optimizers);
    (if foreign_step { OPTIMIZER } else { 0 }) | (if state { STATE } else { 0 }) | (if inside { OPTIM_FILE } else { 0 })
}

fn is_optimizers(part: &str) -> bool {
    part == "optim" || part.starts_with("optimizer") || part.ends_with("_optimizer")
}

fn native_signs(function: &str) -> Signs {
    let named = NATIVE_SIGNS.iter().filter(|(start, _)| function.starts_with(start));
    let factory = function.strip_prefix("torch::autograd::THPVariable_").is_some_and(|rest| {
        FACTORIES.iter().any(|name| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
    });
    let factory = factory
        || function.starts_with("torch::utils::tensor_ctor")
        || function.starts_with("torch::utils::legacy_tensor");
    named.fold(0, |all, (_, sign)| all | sign) | if factory { FACTORY } else { 0 }
}

/// `_?(run_|do_)?(eval|evaluate|…)(_(epoch|loop|…))?`
fn evaluates(function: &str) -> bool {
    const WHAT: &[&str] =
        &["eval", "evaluate", "evaluation", "valid", "validate", "validation", "predict", "inference"];
    const OF: &[&str] = &["", "_epoch", "_loop", "_step", "_model", "_one_epoch", "_batch", "_loss"];
    let name = function.strip_prefix('_').unwrap_or(function);
    let name = name.strip_prefix("run_").or_else(|| name.strip_prefix("do_")).unwrap_or(name);
    WHAT.iter().any(|what| name.strip_prefix(what).is_some_and(|rest| OF.contains(&rest)))
}

fn ends_with_path(file: &str, end: &str) -> bool {
    file.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Whether the file lies somewhere below this folder.
fn ends_with_folder(file: &str, folder: &str) -> bool {
    file.find(folder).is_some_and(|at| {
        (at == 0 || file.as_bytes()[at - 1] == b'/') && file.as_bytes().get(at + folder.len()) == Some(&b'/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_evaluation() {
        for name in ["evaluate", "_run_validation_epoch", "do_eval", "valid_one_epoch", "eval_loss"] {
            assert!(evaluates(name), "{name}");
        }
        for name in ["evaluator", "train", "validity", "run_training"] {
            assert!(!evaluates(name), "{name}");
        }
    }
}
