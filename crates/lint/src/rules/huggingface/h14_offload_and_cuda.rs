//! ## What it finds
//!
//! A diffusers pipeline with CPU offload that is also moved to the GPU.
//!
//! ## Why
//!
//! Offload keeps one part of the pipeline on the GPU at a time. Moving the pipeline puts all weights there: before the offload
//! it costs a peak of the whole model, after it the savings are gone (and sequential offload raises a ValueError).
//!
//! ## Bad
//!
//! ```python
//! pipe = DiffusionPipeline.from_pretrained(name, torch_dtype=torch.bfloat16)
//! pipe.enable_model_cpu_offload()
//! pipe.to("cuda")
//! ```
//!
//! ## Good
//!
//! ```python
//! pipe = DiffusionPipeline.from_pretrained(name, torch_dtype=torch.bfloat16)
//! pipe.enable_model_cpu_offload()
//! ```
//!
//! ## Fix
//!
//! Safe: the move is removed; offload moves each part itself.
//!
//! ## References
//!
//! - `diffusers/pipelines/pipeline_utils.py`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged, Stmt, TextRange};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H14",
    name: "offload-and-cuda",
    severity: Severity::Warning,
    fix: Safety::Safe,
    wants: &[Want::Named("enable_model_cpu_offload"), Want::Named("enable_sequential_cpu_offload")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some((pipe, _)) = node.call().and_then(|call| facts.method(call)) else { return };
    let Some(made) = facts.constructor(pipe) else { return };
    if facts.in_test(&node) {
        return;
    }
    let function = facts.function_id(&node);
    for call in facts.calls_named(&["to", "cuda"]) {
        let here = facts.function_id(call) == function && !facts.are_exclusive(&node, call);
        if here && moves_to_gpu(facts, call) && is_of(facts, call, made) {
            sink.report(
                call,
                "the pipeline is moved to the GPU whole, although CPU offload is on: its savings are lost",
            )
            .fix_if(true, "Leave it to the offload", removed(facts, call));
        }
    }
}

/// `.cuda()`, `.to("cuda")`, `.to(device="cuda:0")`.
fn moves_to_gpu<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    if facts.called_name(call) == Some("cuda") {
        return call.arguments.args.is_empty();
    }
    let device = call.arguments.find_argument_value("device", 0).map(|device| facts.resolve(device));
    let device = match device {
        Some(Expr::Call(made)) if facts.calls(made, "torch.device") => made.arguments.find_positional(0),
        other => other,
    };
    device.and_then(Expr::as_string_literal_expr).is_some_and(|name| name.value.to_str().starts_with("cuda"))
}

/// The receiver is the pipeline that this call made.
fn is_of<'a>(facts: &Facts<'a>, call: &'a ExprCall, made: &'a ExprCall) -> bool {
    let Some((owner, _)) = facts.method(call) else { return false };
    facts.constructor(owner).is_some_and(|other| std::ptr::eq(other, made))
}

/// A statement that does nothing else goes; in a chain only the link.
fn removed<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<Vec<Edit>> {
    let (owner, _) = facts.method(call)?;
    let only_device = call.arguments.args.len() + call.arguments.keywords.len() <= 1;
    let stmt = facts.statement(call);
    match stmt {
        _ if !only_device => None,
        Stmt::Expr(whole) if whole.value.range() == call.range() => facts.delete_statement(stmt),
        Stmt::Assign(assign) if assign.value.range() == call.range() && assign.targets.len() == 1 => {
            match facts.same_place(&assign.targets[0], owner) {
                true => facts.delete_statement(stmt),
                false => Some(vec![Edit::delete(TextRange::new(owner.end(), call.end()))]),
            }
        }
        _ => Some(vec![Edit::delete(TextRange::new(owner.end(), call.end()))]),
    }
}
