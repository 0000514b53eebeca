//! ## What it finds
//!
//! A `TensorDataset` of tensors that were sent to the GPU.
//!
//! ## Why
//!
//! The whole dataset stays in GPU memory beside the model. That is fine for small data and meant so, but a larger set takes
//! what the batches need. With worker processes it fails: CUDA cannot be used after a fork.
//!
//! ## Bad
//!
//! ```python
//! X = torch.tensor(data).cuda()
//! loader = DataLoader(TensorDataset(X, y.cuda()), batch_size=64)
//! ```
//!
//! ## Good
//!
//! ```python
//! X = torch.as_tensor(data, dtype=torch.float32)
//! loader = DataLoader(TensorDataset(X, y), batch_size=64, pin_memory=True)
//! ```
//!
//! ## Fix
//!
//! None: the batches have to be moved in the loop instead.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.utils.data`, "Multi-process data loading"

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D01",
    name: "dataset-on-gpu",
    severity: Severity::Note,
    wants: &[Want::Call("torch.utils.data.TensorDataset")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    if call.arguments.args.iter().any(|tensor| is_on_gpu(facts, tensor)) {
        sink.report(call, "the whole dataset lies in GPU memory, beside model and activations");
    }
}

fn is_on_gpu<'a>(facts: &Facts<'a>, tensor: &'a Expr) -> bool {
    let made = if tensor.is_call_expr() { Some(tensor) } else { facts.origin(tensor) };
    made.and_then(|e| facts.gpu_move_in(e)).is_some_and(|call| names_cuda(facts, call))
}

/// `.cuda()`, or a device that is a GPU where there is one.
fn names_cuda<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let mut arguments = call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|k| &k.value));
    facts.called_name(call) == Some("cuda") || arguments.any(|a| facts.text(facts.resolve(a)).contains("cuda"))
}
