//! ## What it finds
//!
//! A distributed script on GPUs that never says which GPU is the process's own: no `torch.cuda.set_device`, no `device_id`.
//!
//! ## Why
//!
//! Whatever does not name a device (`.cuda()`, `empty_cache()`, `barrier()`, pinned memory) then opens a CUDA context on
//! GPU 0: half a gigabyte there for every process, until GPU 0 is full.
//!
//! ## Bad
//!
//! ```python
//! dist.init_process_group("nccl")
//! model = DDP(Net().cuda(local_rank), device_ids=[local_rank])
//! ```
//!
//! ## Good
//!
//! ```python
//! torch.cuda.set_device(local_rank)
//! dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
//! model = DDP(Net().cuda(local_rank), device_ids=[local_rank])
//! ```
//!
//! ## Fix
//!
//! Suggested: `torch.cuda.set_device` before the process group, with the device that `DistributedDataParallel` gets.
//!
//! ## References
//!
//! - pytorch/pytorch#25752, pytorch/pytorch#58626

use crate::facts::{Facts, Framework, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D14",
    name: "ddp-no-set-device",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Call("torch.distributed.init_process_group")],
    check,
    ..Rule::DEFAULT
};

/// These choose the device themselves.
const OWNERS: &[Framework] = &[Framework::Lightning, Framework::Trainer, Framework::Accelerate, Framework::DeepSpeed];
const CHOSEN: &[&str] = &["set_device", "CUDA_VISIBLE_DEVICES"];
const DDP: &str = "torch.nn.parallel.DistributedDataParallel";

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let named = call.arguments.find_keyword("device_id").is_some() || facts.mentions("torch.cuda.device");
    let chosen = named || facts.says(CHOSEN) || OWNERS.iter().any(|f| facts.uses_framework(*f));
    let backend = call.arguments.find_argument_value("backend", 0);
    if chosen || !backend.is_none_or(|b| facts.text(facts.resolve(b)).contains("nccl")) {
        return;
    }
    let Some(device) = own_device(facts) else { return };
    let (cuda, _) = facts.spelling_or_import("torch.cuda.set_device");
    let edit = facts.insert_before(facts.statement(call), &format!("{cuda}({})", facts.text(device)));
    let known_here = facts.function_id(device) == facts.function_id(call)
        && !facts.defs(device).iter().any(|d| facts.def(*d).node > facts.id(call));
    let edits: Option<Vec<Edit>> = edit.filter(|_| known_here).map(|edit| vec![edit]);
    sink.report(
        call,
        "no process says which GPU is its own: what names no device opens a context on GPU 0, for every process",
    )
    .fix_if(false, "Choose the device first", edits);
}

/// The device that `DistributedDataParallel(…, device_ids=[x])` is given.
fn own_device<'a>(facts: &Facts<'a>) -> Option<&'a Expr> {
    let is_ddp = |c: &&'a ExprCall| facts.calls(c, DDP);
    let ids = facts
        .tree()
        .all()
        .iter()
        .filter_map(|n| n.call())
        .find(is_ddp)?
        .arguments
        .find_argument_value("device_ids", 1)?;
    match ids {
        Expr::List(list) => list.elts.first().filter(|e| e.is_name_expr() || e.is_attribute_expr()),
        _ => None,
    }
}
