//! ## What it finds
//!
//! A model's output that is still bound when the next turn of the loop runs the model. Off unless selected: nearly every loop
//! does this.
//!
//! ## Why
//!
//! Names of a loop live until they are bound anew, which is after the next forward. The last output is in memory beside the new
//! activations: for language models with 128 000 tokens in the vocabulary, logits of 4 000 positions are 1 GiB.
//!
//! ## Bad
//!
//! ```python
//! for batch in loader:
//!     logits = model(batch)
//!     loss = criterion(logits, batch["y"])
//!     loss.backward()
//! ```
//!
//! ## Good
//!
//! ```python
//! for batch in loader:
//!     logits = model(batch)
//!     loss = criterion(logits, batch["y"])
//!     loss.backward()
//!     del logits, loss
//! ```
//!
//! ## Fix
//!
//! Suggested: `del` at the end of the turn.
//!
//! ## References
//!
//! - PyTorch FAQ, "My GPU memory isn't freed properly"
//! - foundation-model-stack/fms-fsdp#152, huggingface/transformers#30536

use crate::facts::{Facts, Loop, LoopKind, Node, Set};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Stmt};
use crate::rule::{Default, Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L13",
    name: "previous-iteration-overlap",
    severity: Severity::Note,
    default: Default::Off,
    fix: Safety::Unsafe,
    wants: &[Want::Assign],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(Stmt::Assign(assign)) = node else { return };
    let ([target @ Expr::Name(_)], Expr::Call(call)) = (&assign.targets[..], &*assign.value) else { return };
    let Some(around) = facts.loop_of(&node).filter(|l| facts.loop_kind(*l) == LoopKind::Data) else { return };
    if facts.in_test(&node)
        || facts.model_run_by(call).is_none()
        || is_let_go(facts, target, around)
        || is_used_after(facts, target, around)
    {
        return;
    }
    let name = facts.text(target);
    sink.report(
        node,
        format!("`{name}` stays in memory while the next turn runs the model: `del {name}` at the end of the turn"),
    )
    .fix_if(false, format!("Delete `{name}` at the end of the turn"), deletion(facts, name, around));
}

fn is_let_go<'a>(facts: &Facts<'a>, target: &'a Expr, around: Loop<'a>) -> bool {
    let Some(place) = facts.place_at(target) else { return true };
    facts.place(place).defs.iter().any(|def| match facts.def(*def).set {
        Set::Deleted => facts.contains(&around, &facts.def_node(*def)),
        // `outputs = gather(outputs)`: bound to something else before the turn ends.
        Set::Assign { value, .. } => {
            let node = facts.def_node(*def);
            value.is_none_literal_expr()
                || (facts.contains(&around, &node) && facts.before(target, &node) && value.is_call_expr())
        }
        _ => false,
    })
}

fn is_used_after<'a>(facts: &Facts<'a>, target: &'a Expr, around: Loop<'a>) -> bool {
    let Some(def) = facts.defined_by(target) else { return true };
    facts.uses(def).into_iter().any(|used| !facts.contains(&around, used))
}

/// Not behind a `continue` or `return`, and only when the name is always bound there.
fn deletion<'a>(facts: &Facts<'a>, name: &str, around: Loop<'a>) -> Option<Vec<Edit>> {
    let last = around.body().last()?;
    let leaves = facts
        .inside_here(&around)
        .any(|n| matches!(n, Node::Stmt(Stmt::Continue(_) | Stmt::Return(_) | Stmt::Break(_))));
    let nested = facts.inside_here(&around).skip(1).any(|n| Loop::of(n).is_some());
    if leaves || nested {
        return None;
    }
    facts.insert_after(last, &format!("del {name}")).map(|edit| vec![edit])
}
