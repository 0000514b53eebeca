//! ## What it finds
//!
//! A checkpoint that was loaded for its weights and is still bound to a name while the model trains.
//!
//! ## Why
//!
//! The dict keeps its tensors: the parameters once more, with optimizer state up to three times. They stay in host memory,
//! or in GPU memory when they were loaded there, until the function ends. In host memory it is a note.
//!
//! ## Bad
//!
//! ```python
//! ckpt = torch.load(path, map_location=device)
//! model.load_state_dict(ckpt["model"])
//! train(model)
//! ```
//!
//! ## Good
//!
//! ```python
//! ckpt = torch.load(path, map_location="cpu")
//! model.load_state_dict(ckpt["model"])
//! del ckpt
//! train(model)
//! ```
//!
//! ## Fix
//!
//! Safe: `del` after the last use.
//!
//! ## References
//!
//! - nanoGPT, `train.py`: `checkpoint = None # free up memory`

use crate::facts::{EventKind, Facts, Node};
use crate::finding::Severity;
use crate::parse::ast::{ExprCall, ExprLambda};
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D11",
    name: "checkpoint-dict-kept-alive",
    severity: Severity::Warning,
    fix: Safety::Safe,
    wants: &[Want::Call("torch.load"), Want::Call("safetensors.torch.load_file")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let stmt @ Stmt::Assign(assign) = facts.statement(call) else { return };
    let [target @ Expr::Name(name)] = &assign.targets[..] else { return };
    let Some(def) = facts.defined_by(target) else { return };
    let uses = facts.uses(def);
    if !uses.iter().any(|used| loads_weights(facts, used)) || is_replaced(facts, target) {
        return;
    }
    let Some(last) = last_use_here(facts, stmt, &uses) else { return };
    let Some(training) = training_after(facts, stmt, last) else { return };
    let line = facts.source.line_of(training.start()) + 1;
    let on_host = is_on_host(facts, call);
    let place = if on_host { " in host memory" } else { "" };
    let message = format!(
        "`{}` stays bound through the training below (line {line}) and keeps a second copy of the weights{place}",
        name.id
    );
    sink.report(target, message).severity(if on_host { Severity::Note } else { Severity::Warning }).fix_if(
        true,
        "Delete it after its last use",
        facts.insert_after(last, &format!("del {}", name.id)).map(|edit| vec![edit]),
    );
}

/// `map_location="cpu"`, or safetensors without a device.
fn is_on_host<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let (name, is_torch) = if facts.calls(call, "torch.load") { ("map_location", true) } else { ("device", false) };
    match call.arguments.find_argument_value(name, 1) {
        Some(Expr::Lambda(lambda)) => returns_storage(lambda),
        Some(place) => facts.text(facts.resolve(place)).contains("cpu"),
        None => !is_torch && !call.arguments.keywords.iter().any(|k| k.arg.is_none()),
    }
}

/// `lambda storage, location: storage` leaves the tensors where they are read to.
fn returns_storage(lambda: &ExprLambda) -> bool {
    let first = lambda.parameters.as_ref().and_then(|p| p.iter_non_variadic_params().next());
    matches!((&*lambda.body, first), (Expr::Name(name), Some(first)) if name.id == first.parameter.name.id)
}

fn loads_weights<'a>(facts: &Facts<'a>, used: &'a Expr) -> bool {
    facts
        .ancestors_here(used)
        .filter_map(Node::call)
        .any(|c: &ExprCall| facts.called_name(c) == Some("load_state_dict"))
}

/// Deleted or bound again: somebody thought of it.
fn is_replaced<'a>(facts: &Facts<'a>, target: &'a Expr) -> bool {
    facts
        .place_at(target)
        .is_none_or(|place| facts.place(place).defs.len() > 1 || !facts.place(place).captured_by.is_empty())
}

/// The statement of the same block with the last use; nothing when a use lies in a loop around or elsewhere.
fn last_use_here<'a>(facts: &Facts<'a>, stmt: &'a Stmt, uses: &[&'a Expr]) -> Option<&'a Stmt> {
    let rest = facts.following(stmt);
    uses.iter().all(|used| rest.iter().any(|s| facts.contains(s, *used))).then_some(())?;
    let last = uses.iter().max_by_key(|used| facts.id(**used))?;
    rest.iter().find(|s| facts.contains(*s, *last))
}

/// A training loop, or a call of something that trains, behind the last use: in the block or in one around it.
fn training_after<'a>(facts: &Facts<'a>, stmt: &'a Stmt, last: &'a Stmt) -> Option<&'a Stmt> {
    let here = facts.following(last).iter();
    let outside = facts
        .ancestors_here(stmt)
        .filter_map(Node::stmt)
        .take_while(|s| !matches!(s, Stmt::For(_) | Stmt::While(_)))
        .flat_map(|s| facts.following(s).iter());
    here.chain(outside).find(|s| trains(facts, s))
}

fn trains<'a>(facts: &Facts<'a>, stmt: &'a Stmt) -> bool {
    if matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
        return false;
    }
    facts.events(stmt).iter().any(|e| e.kind == EventKind::Backward)
        || facts.inside_here(stmt).filter_map(Node::call).any(|c| {
            let is_switch = c.arguments.is_empty();
            !is_switch
                && matches!(
                    facts.called_name(c),
                    Some("train" | "fit" | "train_one_epoch" | "train_model" | "train_epoch")
                )
                && !c.arguments.args.first().is_some_and(Expr::is_boolean_literal_expr)
        })
}
