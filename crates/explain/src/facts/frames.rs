//! What a single frame says: whose code it is, and what it is doing.
//!
//! Names of functions are PyTorch's own (2.0 to 2.11); a name that is gone in another version makes an answer weaker,
//! never wrong.

use trace::{Frame, Names};

/// Whose code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// The person's own script or package.
    User,
    /// PyTorch's Python side.
    Torch,
    /// Another installed package, or Python's own library.
    Installed,
    /// `runpy`, which starts scripts: what is outside of it is not the user's run.
    Runner,
    /// C and C++.
    Native,
}

/// What the frame does, as far as it matters for memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    None,
    /// A module is called.
    ModuleCall,
    /// A module's tensors are moved or converted.
    ModuleMove,
    /// A module is built, or weights are loaded into it.
    ModuleInit,
    /// Layers are repeated while a model is built: PyTorch copies the first one.
    LayerClones,
    Deepcopy,
    Optimizer,
    ClipGradients,
    /// An operator of PyTorch, by its name.
    Op(String),
    /// A node of the backward pass, without its number: `SoftmaxBackward`.
    Node(String),
    /// The thread that runs the backward pass.
    Engine,
    /// The graph lets go of what it saved.
    GraphRelease,
    /// A tensor's own memory is made.
    TensorMemory,
    /// A library's scratch memory is made.
    Workspace,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameReading {
    pub home: Home,
    pub role: Role,
}

/// Reads one frame.
pub(crate) fn read(frame: Frame, names: &Names) -> FrameReading {
    let (file, function) = (names.get(frame.file), names.get(frame.function));
    let home = home(file);
    let role = if home == Home::Native { native_role(function) } else { python_role(file, function) };
    FrameReading { home, role }
}

fn home(file: &str) -> Home {
    if file.starts_with("<frozen runpy") || file.ends_with("/runpy.py") {
        return Home::Runner;
    }
    if !file.ends_with(".py") && !file.starts_with('<') {
        return Home::Native;
    }
    if file.contains("-packages/torch/") {
        return Home::Torch;
    }
    let installed = ["-packages/", "/lib/python3", "<frozen ", "<__array"];
    let library = installed.iter().any(|part| file.contains(part)) || file.starts_with("python3.");
    // A file of Python's library whose folder was cut off is still not the user's.
    let bare = matches!(file, "copy.py" | "contextlib.py" | "runpy.py" | "threading.py" | "functools.py");
    if library || bare { Home::Installed } else { Home::User }
}

/// Files of packages that hold optimizers.
const OPTIMIZER_FILES: [&str; 6] = [
    "/torch/optim/",
    "/bitsandbytes/optim/",
    "/torchao/optim/",
    "/apex/optimizers/",
    "optimization.py",
    "/lion_pytorch/",
];
/// Functions that fill a module with weights.
const LOADING: [&str; 8] = [
    "load_state_dict",
    "_load_from_state_dict",
    "_load_state_dict_into_model",
    "_load_state_dict_into_meta_model",
    "from_pretrained",
    "load_file",
    "_rebuild_tensor_v2",
    "to_empty",
];

fn python_role(file: &str, function: &str) -> Role {
    let module_file = file.ends_with("nn/modules/module.py");
    match function {
        "_call_impl" | "_wrapped_call_impl" if module_file => Role::ModuleCall,
        "_apply" if file.contains("nn/modules/") => Role::ModuleMove,
        "flatten_parameters" => Role::ModuleMove,
        "_get_clones" => Role::LayerClones,
        "__deepcopy__" | "deepcopy" | "_deepcopy_dict" | "_reconstruct" => Role::Deepcopy,
        "__init__" | "reset_parameters" if !file.contains("/optim/") && !file.contains("/utils/data/") => {
            Role::ModuleInit
        }
        "clip_grad_norm_" | "clip_grad_value_" | "_clip_grads_with_norm_" | "_get_total_norm" => Role::ClipGradients,
        name if LOADING.contains(&name) => Role::ModuleInit,
        _ if OPTIMIZER_FILES.iter().any(|part| file.contains(part)) => Role::Optimizer,
        "softmax" | "log_softmax" | "cross_entropy" | "nll_loss" | "dropout" | "linear" | "gelu" | "layer_norm"
            if file.ends_with("nn/functional.py") =>
        {
            Role::Op(function.to_owned())
        }
        _ => Role::None,
    }
}

/// Memory that a library asks for itself, past the tensors.
const SCRATCH: [&str; 9] =
    ["raw_alloc", "orkspace", "cusolver", "cufft", "CuFFT", "cub::", "radix_sort", "slow_conv", "im2col"];

fn native_role(function: &str) -> Role {
    if let Some(rest) = function.strip_prefix("at::_ops::") {
        return Role::Op(rest.split("::").next().unwrap_or_default().to_owned());
    }
    if function.contains("SavedVariable") || function.contains("::release_variables") || function.contains("deleteNode")
    {
        return Role::GraphRelease;
    }
    if function.contains("torch::autograd::Engine::") {
        return Role::Engine;
    }
    if let Some(node) = node_name(function) {
        return Role::Node(node);
    }
    if function.contains("empty_generic") || function.contains("empty_strided_generic") || function.contains("resize_")
    {
        return Role::TensorMemory;
    }
    if SCRATCH.iter().any(|part| function.contains(part)) { Role::Workspace } else { Role::None }
}

/// `torch::autograd::generated::SoftmaxBackward0::apply(…)` → `SoftmaxBackward`.
fn node_name(function: &str) -> Option<String> {
    let before = function.split("::apply(").next().filter(|before| before.len() < function.len())?;
    let name = before.rsplit("::").next()?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.ends_with("Backward").then(|| name.to_owned()).or_else(|| (name == "AccumulateGrad").then(|| name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_homes() {
        let cases = [
            ("train.py", Home::User),
            ("/home/me/project/model.py", Home::User),
            ("/tmp/ipykernel_12/3456.py", Home::User),
            ("<stdin>", Home::User),
            ("site-packages/torch/nn/functional.py", Home::Torch),
            ("/opt/venv/lib/python3.11/site-packages/transformers/trainer.py", Home::Installed),
            ("/usr/lib/python3.12/copy.py", Home::Installed),
            ("<frozen runpy>", Home::Runner),
            ("memory_snapshot.cpp", Home::Native),
            ("??", Home::Native),
            ("", Home::Native),
        ];
        for (file, expected) in cases {
            assert_eq!(home(file), expected, "{file}");
        }
    }

    #[test]
    fn native_names_say_what_happens() {
        let op = native_role("at::_ops::native_layer_norm::redispatch(c10::DispatchKeySet, at::Tensor const&)");
        assert_eq!(op, Role::Op("native_layer_norm".to_owned()));
        let node = native_role("torch::autograd::generated::SoftmaxBackward0::apply(std::vector<at::Tensor>&&)");
        assert_eq!(node, Role::Node("SoftmaxBackward".to_owned()));
        assert_eq!(native_role("torch::autograd::Engine::thread_main(std::shared_ptr<…> const&)"), Role::Engine);
        assert_eq!(native_role("torch::autograd::SavedVariable::reset_data()"), Role::GraphRelease);
        assert_eq!(native_role("at::cuda::getCurrentCUDABlasHandle()"), Role::None);
    }

    #[test]
    fn an_initialiser_of_an_optimizer_builds_no_module() {
        assert_eq!(python_role("site-packages/torch/optim/adam.py", "__init__"), Role::Optimizer);
        assert_eq!(python_role("model.py", "__init__"), Role::ModuleInit);
    }
}
