//! ## What it finds
//!
//! `torch.load` without `map_location` of a checkpoint that the program saves itself, from the GPU. Where it comes from elsewhere,
//! nothing tells what it was saved from: then it is a note, and only when the rule is selected.
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

use crate::facts::{Facts, Kind, Node};
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
        || call.arguments.keywords.iter().any(|k| k.arg.is_none())
        // Mapped from the file, not read.
        || facts.switches_on(call, "mmap");
    if known || facts.in_test(&node) || facts.inside_context(call, "device") {
        return;
    }
    if !feeds_a_model(facts, call) && !is_checkpoint_by_name(facts, call) {
        return;
    }
    // Where nothing tells what the file holds, only those who ask are told.
    let Some(severity) = severity(facts, call).filter(|s| *s != Severity::Note || sink.is_asked()) else { return };
    let message = match severity {
        Severity::Note => {
            "without `map_location` tensors that were saved from a GPU go back to it, beside the model's own"
        }
        _ => "without `map_location` the tensors go back to the GPU that they were saved from, beside the model's own",
    };
    let edit = facts.add_argument(call, "map_location=\"cpu\"");
    sink.report(call, message).severity(severity).fix_if(
        only_feeds(facts, call),
        "Load it to the CPU",
        Some(vec![edit]),
    );
}

/// How much the file tells about where the tensors were saved from; nothing when it was host memory, or no GPU is in sight.
fn severity<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<Severity> {
    let on_gpu = facts.mentions("torch.distributed") || moves_to_gpu(facts);
    let saves = saves_of(facts, call);
    match (saves.is_empty(), on_gpu) {
        (false, true) => saves.iter().any(|save| !is_from_host(facts, save)).then_some(Severity::Warning),
        (false, false) => None,
        (true, true) => Some(Severity::Note),
        (true, false) => is_named_here(facts, call).then_some(Severity::Note),
    }
    .filter(|_| !facts.source.text().contains("offload_to_cpu=True") && !facts.imports("torch_xla"))
}

/// The calls that may have written the file: those with the very same path, or else all.
fn saves_of<'a>(facts: &Facts<'a>, load: &'a ExprCall) -> Vec<&'a ExprCall> {
    let all = facts.tree().all().iter().filter_map(|n| n.call()).filter(|c| facts.calls(c, "torch.save"));
    let all: Vec<&ExprCall> = all.collect();
    let Some(path) = load.arguments.find_argument_value("f", 0) else { return all };
    let is_same = |save: &&ExprCall| {
        let to = save.arguments.find_argument_value("f", 1);
        to.is_some_and(|to| facts.same_place(to, path) && facts.defs(to) == facts.defs(path))
    };
    let same: Vec<&ExprCall> = all.iter().copied().filter(|save| is_same(save)).collect();
    if same.is_empty() { all } else { same }
}

/// What is saved lies in host memory: `model.cpu().state_dict()`, or `model.cpu()` further up, or nobody moved it.
fn is_from_host<'a>(facts: &Facts<'a>, save: &'a ExprCall) -> bool {
    let Some(saved) = save.arguments.find_argument_value("obj", 0) else { return false };
    let is_cpu = |c: &'a ExprCall| match facts.method(c) {
        Some((_, "cpu")) => true,
        Some((_, "to")) => c.arguments.args.first().is_some_and(|a| facts.text(a).contains("cpu")),
        _ => false,
    };
    if facts.inside(saved).filter_map(Node::call).any(is_cpu) {
        return true;
    }
    let names: Vec<&Expr> = facts.inside(saved).filter_map(Node::expr).filter(|e| e.is_name_expr()).collect();
    let mut modules = names.iter().filter(|name| facts.kind(name) == Kind::Module).peekable();
    if modules.peek().is_some() && modules.all(|module| facts.is_on_host(module)) {
        return true;
    }
    facts.tree().all().iter().filter_map(|n| n.call()).filter(|c| is_cpu(c)).any(|moved| {
        let same = |inner: &'a Expr| inner.is_name_expr() && names.iter().any(|n| facts.same_place(inner, n));
        facts.before(moved, save) && facts.inside(&*moved.func).filter_map(Node::expr).any(same)
    })
}

/// The file's name stands in the program, not only the name of a setting: `args["path"]`, `getattr(args, "path")`.
fn is_named_here<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let Some(path) = call.arguments.args.first() else { return false };
    let is_setting = |literal: &'a Expr| match facts.parent(literal) {
        Some(Node::Expr(Expr::Subscript(_))) => true,
        Some(Node::Expr(Expr::Call(c))) => matches!(facts.called_name(c), Some("getattr" | "get" | "getenv")),
        _ => false,
    };
    facts
        .inside(facts.resolve(path))
        .filter_map(Node::expr)
        .any(|e| (e.is_string_literal_expr() || e.is_f_string_expr()) && !is_setting(e))
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
    facts.ancestors_here(node).filter_map(Node::call).any(|c| match facts.method(c) {
        Some((owner, "load_state_dict")) => !is_small_state(facts, owner),
        _ => facts.called_name(c) == Some("load_state_dict"),
    })
}

/// Schedulers and scalers keep a few numbers.
fn is_small_state<'a>(facts: &Facts<'a>, owner: &'a Expr) -> bool {
    let name = facts.text(owner).to_ascii_lowercase();
    matches!(facts.kind(owner), Kind::Scheduler | Kind::Scaler)
        || name.ends_with("scheduler")
        || name.ends_with("scaler")
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
