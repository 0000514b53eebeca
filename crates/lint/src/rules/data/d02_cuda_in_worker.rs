//! ## What it finds
//!
//! `.cuda()` or `.to("cuda")` in the `__getitem__` of a dataset, or in a `collate_fn`, whose loader has worker processes.
//!
//! ## Why
//!
//! A forked worker cannot use CUDA: "Cannot re-initialize CUDA in forked subprocess". With `spawn` every worker opens a CUDA
//! context of its own, half a gigabyte of GPU memory each.
//!
//! ## Bad
//!
//! ```python
//! class DS(Dataset):
//!     def __getitem__(self, i):
//!         return self.x[i].to("cuda")
//! loader = DataLoader(DS(), num_workers=4)
//! ```
//!
//! ## Good
//!
//! ```python
//! class DS(Dataset):
//!     def __getitem__(self, i):
//!         return self.x[i]
//! loader = DataLoader(DS(), num_workers=4, pin_memory=True)
//! ```
//!
//! ## Fix
//!
//! Suggested: the move is dropped here. Move the batch in the training loop.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.utils.data`: it is not recommended to return CUDA tensors in multi-process loading
//! - Project-MONAI/MONAI#2864

use crate::facts::{ClassId, Facts, FunctionId, Kind, Node, literal_number};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged, TextRange};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D02",
    name: "cuda-in-worker",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::Call("torch.utils.data.DataLoader")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(loader) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let workers = loader.arguments.find_argument_value("num_workers", 5);
    if workers.is_none_or(|n| literal_number(facts.resolve(n)) == Some(0)) {
        return;
    }
    for function in run_by_workers(facts, loader) {
        for call in facts.inside(facts.function(function).stmt).filter_map(Node::call) {
            if let Some(owner) = facts.sent_to_gpu(call) {
                sink.report(call, "a worker process runs this: after a fork CUDA cannot be used, and with `spawn` each worker takes a context of GPU memory")
                    .suggest("Leave it on the CPU", [Edit::delete(TextRange::new(owner.end(), call.end()))]);
            }
        }
    }
}

/// Functions of this file that run in the loader's workers.
fn run_by_workers<'a>(facts: &Facts<'a>, loader: &'a ExprCall) -> Vec<FunctionId> {
    let dataset = loader.arguments.find_argument_value("dataset", 0).and_then(|d| dataset_class(facts, d));
    let methods = dataset.into_iter().flat_map(|class| {
        ["__getitem__", "__getitems__", "__iter__"].into_iter().filter_map(move |name| facts.method_of(class, name))
    });
    let functions = ["collate_fn", "worker_init_fn"].iter().filter_map(|name| {
        let value = &loader.arguments.find_keyword(name)?.value;
        match facts.kind(value) {
            Kind::Function(id) => Some(id),
            _ => None,
        }
    });
    methods.chain(functions).collect()
}

fn dataset_class<'a>(facts: &Facts<'a>, dataset: &'a Expr) -> Option<ClassId> {
    match facts.kind(&facts.constructor(dataset)?.func) {
        Kind::Class(class) => Some(class),
        _ => None,
    }
}
