//! ## What it finds
//!
//! A loop over folds, trials or stages that builds a new model on the GPU, with its optimizer, while the last one is still
//! bound.
//!
//! ## Why
//!
//! The old model, its gradients and its optimizer state are freed only when the names are bound again, and that is after the
//! new model was built: two models at the peak, and the gap that the first leaves may be fragmented.
//!
//! ## Bad
//!
//! ```python
//! for fold in range(5):
//!     model = Net().cuda()
//!     opt = torch.optim.AdamW(model.parameters())
//!     fit(model, opt)
//! ```
//!
//! ## Good
//!
//! ```python
//! for fold in range(5):
//!     model = Net().cuda()
//!     opt = torch.optim.AdamW(model.parameters())
//!     fit(model, opt)
//!     del model, opt
//! ```
//!
//! ## Fix
//!
//! Suggested: `del` at the end of the body. Putting the body into a function is better still.
//!
//! ## References
//!
//! - deepset-ai/FARM#219

use crate::facts::{Facts, Kind, Loop, Node};
use crate::finding::Severity;
use crate::parse::ast::StmtAssign;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D13",
    name: "model-recreated-in-loop",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::For],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(Stmt::For(stmt)) = node else { return };
    if facts.in_test(&node) {
        return;
    }
    let Some((model, made)) = stmt.body.iter().find_map(|s| model_on_gpu(facts, s)) else { return };
    let Some(optimizer) = stmt.body.iter().find_map(|s| optimizer_of(facts, s, model)) else { return };
    let kept = facts.defined_by(model).is_some_and(|def| facts.uses(def).iter().any(|u| !facts.contains(stmt, *u)));
    if is_let_go(facts, Loop::For(stmt), model) || kept {
        return;
    }
    let (model, optimizer) = (facts.text(model), facts.text(optimizer));
    let last = stmt.body.last().filter(|s| !s.is_continue_stmt() && !s.is_break_stmt() && !s.is_return_stmt());
    let edits = last.and_then(|s| facts.insert_after(s, &format!("del {model}, {optimizer}"))).map(|edit| vec![edit]);
    sink.report(&*made.value, format!("the last turn's `{model}` and `{optimizer}` are still alive while the next model is built: two models at the peak"))
        .fix_if(false, "Let go of both at the end of the turn", edits);
}

/// `model = Net().cuda()`
fn model_on_gpu<'a>(facts: &Facts<'a>, stmt: &'a Stmt) -> Option<(&'a Expr, &'a StmtAssign)> {
    let Stmt::Assign(assign) = stmt else { return None };
    let [target @ Expr::Name(_)] = &assign.targets[..] else { return None };
    facts.gpu_move_in(&assign.value)?;
    let made = facts.constructor(&assign.value)?;
    let named_like_a_class =
        matches!(&*made.func, Expr::Name(name) if name.id.starts_with(|c: char| c.is_ascii_uppercase()));
    (facts.is(&assign.value, Kind::Module) || named_like_a_class).then_some((target, assign))
}

fn optimizer_of<'a>(facts: &Facts<'a>, stmt: &'a Stmt, model: &'a Expr) -> Option<&'a Expr> {
    let Stmt::Assign(assign) = stmt else { return None };
    let [target @ Expr::Name(_)] = &assign.targets[..] else { return None };
    let call = assign.value.as_call_expr().filter(|c| facts.builds_optimizer(c))?;
    facts.inside(call).filter_map(Node::call).any(|c| facts.gives_parameters_of(c, model)).then_some(target)
}

/// Deleted, or bound to something else, in the body; Accelerate has a function for it.
fn is_let_go<'a>(facts: &Facts<'a>, around: Loop<'a>, model: &'a Expr) -> bool {
    facts.inside_here(&around).any(|node| match node {
        Node::Stmt(Stmt::Delete(delete)) => delete.targets.iter().any(|t| facts.same_place(t, model)),
        Node::Stmt(Stmt::Assign(assign)) => {
            assign.value.is_none_literal_expr() && assign.targets.iter().any(|t| facts.same_place(t, model))
        }
        Node::Expr(Expr::Call(call)) => {
            matches!(facts.called_name(call), Some("free_memory" | "release_memory" | "clear" | "cleanup"))
        }
        _ => false,
    })
}
