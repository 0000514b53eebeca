//! ## What it finds
//!
//! A hand-written generation loop with gradients on: what the model gives is what it gets on the next turn.
//!
//! ## Why
//!
//! A cache that goes from turn to turn with its graph keeps the activations of every token so far (440 MB a token were measured).
//! Where only the chosen tokens go round, each turn still keeps the activations of its whole forward.
//!
//! ## Bad
//!
//! ```python
//! for _ in range(max_new):
//!     out = model(ids, past_key_values=past)
//!     past = out.past_key_values
//!     ids = out.logits[:, -1:].argmax(-1)
//! ```
//!
//! ## Good
//!
//! ```python
//! with torch.inference_mode():
//!     for _ in range(max_new):
//!         out = model(ids, past_key_values=past, logits_to_keep=1)
//!         past = out.past_key_values
//!         ids = out.logits[:, -1:].argmax(-1)
//! ```
//!
//! ## Fix
//!
//! Suggested: the loop goes under `with torch.no_grad():`.
//!
//! ## References
//!
//! - huggingface/transformers#3141, huggingface/transformers#15426

use super::e01_eval_without_no_grad::around_loop;
use crate::facts::{Facts, Grad, Kind, Loop, LoopKind, Node, Set};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "E08",
    name: "decode-loop-with-grad",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::For, Want::While],
    check,
    ..Rule::DEFAULT
};

/// What chooses a token.
const CHOOSES: &[&str] = &["argmax", "multinomial", "topk"];
const CACHES: &[&str] = &["past_key_values", "past", "cache", "cache_params", "mems"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(around) = Loop::of(node).filter(|l| facts.loop_kind(*l) == LoopKind::Other) else { return };
    if facts.in_module(&node) || facts.in_test(&node) || !chooses_tokens(facts, around) || needs_gradients(facts, node)
    {
        return;
    }
    let Some(forward) = own_forward(facts, around) else { return };
    let Some(carried) = carried_argument(facts, forward, around) else { return };
    let cached = is_cache(facts, forward, carried);
    let (spelling, import) = facts.spelling_or_import("torch.no_grad");
    let draft = match cached {
        true => sink.report(
            forward,
            format!(
                "`{}` carries the graph of every token so far: generate under `torch.no_grad()`",
                facts.text(carried)
            ),
        ),
        false => sink
            .report(forward, "each token keeps the activations of its whole forward: generate under `torch.no_grad()`")
            .severity(Severity::Warning),
    };
    draft.fix_if(false, "Put the loop under `torch.no_grad()`", around_loop(facts, node, &spelling, import));
}

fn chooses_tokens<'a>(facts: &Facts<'a>, around: Loop<'a>) -> bool {
    facts.inside_here(&around).filter_map(Node::call).any(|call| match facts.called_name(call) {
        Some("max") => is_max_along(facts, call),
        name => name.is_some_and(|n| CHOOSES.contains(&n)),
    })
}

/// `_, token = torch.max(scores, dim=1)`
fn is_max_along<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let along = call.arguments.find_keyword("dim").is_some() || call.arguments.args.len() == 2;
    let unpacked = matches!(facts.statement(call), Stmt::Assign(a) if matches!(&a.targets[..], [Expr::Tuple(pair)] if pair.elts.len() == 2));
    along && unpacked && facts.calls(call, "torch.max")
}

/// `backward` in the function, or a function whose name says that it trains.
fn needs_gradients<'a>(facts: &Facts<'a>, node: Node<'a>) -> bool {
    match facts.function_of(&node) {
        Some(function) => {
            let name = function.stmt.name.as_str();
            let calls = facts.inside(function.stmt).filter_map(Node::call);
            name.contains("train") || name.contains("forward") || calls.into_iter().any(|c| is_backward(facts, c))
        }
        None => facts.tree().all().iter().copied().filter_map(Node::call).any(|c| is_backward(facts, c)),
    }
}

fn is_backward<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    matches!(facts.called_name(call), Some("backward" | "grad" | "log_prob"))
}

/// A model that runs in this loop's own turn.
fn own_forward<'a>(facts: &Facts<'a>, around: Loop<'a>) -> Option<&'a ExprCall> {
    let own = |call: &ExprCall| facts.loop_of(call).is_some_and(|l| facts.id(&l) == facts.id(&around));
    facts
        .inside_here(&around)
        .filter_map(Node::call)
        .find(|call| own(call) && (facts.runs_model_with_grad(call) || decodes_with_grad(facts, call)))
}

/// `model.decode(tokens, memory)` of a module.
fn decodes_with_grad<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let Some((model, "decode" | "decode_step")) = facts.method(call) else { return false };
    facts.is(model, Kind::Module) && !facts.is_frozen(model) && !facts.grad_disabled(call)
}

/// An argument that the turn before computed from what the model gave.
fn carried_argument<'a>(facts: &Facts<'a>, forward: &'a ExprCall, around: Loop<'a>) -> Option<&'a Expr> {
    let keywords = forward.arguments.keywords.iter().map(|k| &k.value);
    let names: Vec<&Expr> = forward.arguments.args.iter().chain(keywords).filter(|a| a.is_name_expr()).collect();
    let carried = |a: &&&'a Expr| facts.is_carried(a, around) && comes_from_forward(facts, a, forward, around, 6);
    let cached = names.iter().filter(carried).find(|a| is_cache(facts, forward, a));
    cached.or_else(|| names.iter().find(carried)).copied()
}

fn comes_from_forward<'a>(
    facts: &Facts<'a>,
    used: &'a Expr,
    forward: &'a ExprCall,
    around: Loop<'a>,
    depth: u8,
) -> bool {
    facts.defs(used).into_iter().any(|def| match &facts.def(def).set {
        // What was computed with gradients off ends the graph.
        Set::Assign { value, .. }
            if depth > 0
                && facts.contains(&around, &facts.def_node(def))
                && !facts.grad_disabled(&facts.def_node(def)) =>
        {
            facts.contains(*value, forward)
                || facts
                    .inside(*value)
                    .filter_map(Node::expr)
                    .any(|e| e.is_name_expr() && comes_from_forward(facts, e, forward, around, depth - 1))
        }
        _ => false,
    })
}

/// A value with a graph, under the name of a cache.
fn is_cache<'a>(facts: &Facts<'a>, forward: &'a ExprCall, carried: &'a Expr) -> bool {
    let keyword = forward.arguments.keywords.iter().find(|k| std::ptr::eq(&k.value, carried));
    let named = keyword.and_then(|k| k.arg.as_ref()).is_some_and(|arg| CACHES.contains(&arg.as_str()));
    (named || CACHES.contains(&facts.text(carried))) && facts.grad(carried) != Grad::Free
}
