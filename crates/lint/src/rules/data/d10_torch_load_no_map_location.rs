//! ## What it finds
//!
//! `torch.load` of a checkpoint without `map_location`.
//!
//! ## Why
//!
//! Tensors go back to the device that they were saved from. A checkpoint of a GPU run is loaded into GPU memory beside the
//! model that takes its weights; with several processes all of them load it onto GPU 0.
//!
//! ## Bad
//!
//! ```python
//! ckpt = torch.load("model.pt")
//! model.load_state_dict(ckpt["model"])
//! ```
//!
//! ## Good
//!
//! ```python
//! ckpt = torch.load("model.pt", map_location="cpu")
//! model.load_state_dict(ckpt["model"])
//! ```
//!
//! ## Fix
//!
//! Safe where the result only feeds `load_state_dict`, which copies it to where the model is; suggested elsewhere.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.load`
//! - pytorch/pytorch#23138, pytorch/examples#1078

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, HasNodeIndex, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D10",
    name: "torch-load-no-map-location",
    severity: Severity::Warning,
    fix: Safety::Sometimes,
    wants: &[Want::Call("torch.load")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let known = call.arguments.find_argument_value("map_location", 1).is_some()
        || call.arguments.keywords.iter().any(|k| k.arg.is_none());
    // Saved from host memory on purpose.
    let offloaded = facts.source.text().contains("offload_to_cpu=True");
    if known || offloaded || facts.in_test(&node) || facts.inside_context(call, "device") {
        return;
    }
    let safe = only_feeds(facts, call);
    if !feeds_a_model(facts, call) && !is_checkpoint_by_name(facts, call) {
        return;
    }
    let on_gpu = facts.mentions("torch.cuda") || facts.mentions("torch.distributed") || moves_to_gpu(facts);
    let severity = if on_gpu { Severity::Warning } else { Severity::Note };
    sink.report(call, "without `map_location` the tensors go back to the GPU that they were saved from, beside the model's own")
        .severity(severity)
        .fix_if(safe, "Load it to the CPU", Some(vec![facts.add_argument(call, "map_location=\"cpu\"")]));
}

/// Given to `load_state_dict`, at once or through a name.
fn feeds_a_model<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    is_argument_of_load(facts, call) || uses_of(facts, call).iter().any(|used| is_argument_of_load(facts, *used))
}

/// Nothing else is done with it than `load_state_dict` and reading entries by their keys.
fn only_feeds<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let reads = |used: &'a Expr| matches!(facts.parent(used), Some(Node::Expr(Expr::Subscript(_) | Expr::Compare(_))));
    feeds_a_model(facts, call)
        && uses_of(facts, call).iter().all(|used| is_argument_of_load(facts, *used) || reads(used))
}

fn uses_of<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Vec<&'a Expr> {
    let Stmt::Assign(assign) = facts.statement(call) else { return Vec::new() };
    let [target @ Expr::Name(_)] = &assign.targets[..] else { return Vec::new() };
    facts.defined_by(target).map(|def| facts.uses(def)).unwrap_or_default()
}

fn is_argument_of_load<'a>(facts: &Facts<'a>, node: &'a (impl HasNodeIndex + ?Sized)) -> bool {
    facts.ancestors_here(node).filter_map(Node::call).any(|c| facts.called_name(c) == Some("load_state_dict"))
}

/// What it is bound to, or the file's name, says that it is a checkpoint.
fn is_checkpoint_by_name<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let bound = match facts.statement(call) {
        Stmt::Assign(assign) => assign.targets.first().map(|t| facts.text(t)).unwrap_or_default(),
        _ => "",
    };
    let bound = bound.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(&bound[..], "ckpt" | "checkpoint" | "state_dict" | "checkpoint_dict" | "ckpt_dict" | "model_state")
}

fn moves_to_gpu(facts: &Facts<'_>) -> bool {
    facts.tree().all().iter().filter_map(|n| n.call()).any(|c| facts.sent_to_gpu(c).is_some())
}
