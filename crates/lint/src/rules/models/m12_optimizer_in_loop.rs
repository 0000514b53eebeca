//! ## What it finds
//!
//! An optimizer that is made anew in every epoch or step, for a model that was made before the loop.
//!
//! ## Why
//!
//! Its state (momentum, second moments) starts from nothing each time, so that Adam trains like its first steps for ever;
//! and the state is allocated again and again.
//!
//! ## Bad
//!
//! ```python
//! for epoch in range(n):
//!     opt = torch.optim.Adam(model.parameters())
//!     train_one(model, opt)
//! ```
//!
//! ## Good
//!
//! ```python
//! opt = torch.optim.Adam(model.parameters())
//! for epoch in range(n):
//!     train_one(model, opt)
//! ```
//!
//! ## Fix
//!
//! Suggested: the line moves before the loop.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.optim`

use crate::facts::{Facts, Loop, LoopKind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::{ExprCall, StmtFor};
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M12",
    name: "optimizer-in-loop",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::For],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(stmt @ Stmt::For(each)) = node else { return };
    if !goes_over_steps(facts, each) || facts.in_test(&node) {
        return;
    }
    for made in &each.body {
        let Stmt::Assign(assign) = made else { continue };
        let Expr::Call(call) = &*assign.value else { continue };
        if !facts.builds_optimizer(call) {
            continue;
        }
        let Some(model) = model_of(facts, call).filter(|model| stays(facts, each, model)) else { continue };
        sink.report(
            call,
            format!(
                "a new optimizer on every turn: its state is lost each time, while `{}` goes on",
                facts.text(model)
            ),
        )
        .fix_if(false, "Make it before the loop", edits(facts, each, made, stmt));
    }
}

/// `for epoch in …`, `for step in …`, or a loop over data.
fn goes_over_steps<'a>(facts: &Facts<'a>, each: &'a StmtFor) -> bool {
    let name = facts.text(&*each.target).to_ascii_lowercase();
    facts.loop_kind(Loop::For(each)) == LoopKind::Data
        || ["epoch", "step", "iteration"].iter().any(|word| name.contains(word))
}

fn model_of<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<&'a Expr> {
    let parameters = call.arguments.args.first()?.as_call_expr()?;
    facts.method(parameters).filter(|(_, name)| *name == "parameters").map(|(model, _)| model)
}

/// Neither bound nor given other weights inside the loop.
fn stays<'a>(facts: &Facts<'a>, each: &'a StmtFor, model: &'a Expr) -> bool {
    let bound_here = facts.defs(model).iter().any(|def| facts.contains(each, &facts.def_node(*def)));
    let changed = facts.inside_here(each).filter_map(Node::call).any(|c| {
        facts.method(c).is_some_and(|(owner, name)| {
            facts.same_place(owner, model)
                && matches!(name, "load_state_dict" | "apply" | "requires_grad_" | "resize_token_embeddings")
        }) || facts.called_name(c).is_some_and(|n| n.contains("reset") || n.contains("freeze") || n.contains("grow"))
    });
    !bound_here && !changed
}

/// Only what does not read the loop's own variables can move.
fn edits<'a>(facts: &Facts<'a>, each: &'a StmtFor, made: &'a Stmt, around: &'a Stmt) -> Option<Vec<Edit>> {
    let reads_loop = facts.inside(made).filter_map(Node::expr).any(|e| {
        e.is_name_expr()
            && facts
                .defs(e)
                .iter()
                .any(|d| facts.contains(each, &facts.def_node(*d)) && !facts.contains(made, &facts.def_node(*d)))
    });
    (!reads_loop).then(|| facts.move_before(made, around)).flatten()
}
