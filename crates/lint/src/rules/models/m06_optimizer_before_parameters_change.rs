//! ## What it finds
//!
//! A model whose parameters are replaced after its optimizer was made: a new layer, `resize_token_embeddings`,
//! `get_peft_model`.
//!
//! ## Why
//!
//! The optimizer still holds the old parameters and keeps them alive, with state for them; the new ones are never trained.
//! `.cuda()` and `.half()` keep the parameters and are no reason for a finding.
//!
//! ## Bad
//!
//! ```python
//! opt = torch.optim.AdamW(model.parameters())
//! model.fc = nn.Linear(512, 10)
//! model.resize_token_embeddings(len(tok))
//! ```
//!
//! ## Good
//!
//! ```python
//! model.fc = nn.Linear(512, 10)
//! model.resize_token_embeddings(len(tok))
//! opt = torch.optim.AdamW(model.parameters())
//! ```
//!
//! ## Fix
//!
//! Suggested: the optimizer is made after the last change.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.optim`, constructing it

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M06",
    name: "optimizer-before-parameters-change",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::Assign],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(stmt @ Stmt::Assign(assign)) = node else { return };
    let Expr::Call(call) = &*assign.value else { return };
    let [optimizer @ (Expr::Name(_) | Expr::Attribute(_))] = &assign.targets[..] else { return };
    if !facts.builds_optimizer(call) || facts.in_test(&node) {
        return;
    }
    let Some(Expr::Call(parameters)) = call.arguments.args.first() else { return };
    let Some((model, "parameters")) = facts.method(parameters) else { return };
    let rest = facts.following(stmt);
    let changes: Vec<&Stmt> = rest.iter().filter(|s| changes_parameters(facts, s, model)).collect();
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
    let used_or_made_again =
        rest.iter().take_while(|s| !std::ptr::eq(*s, *last)).any(|s| mentions(facts, s, optimizer))
            || rest
                .iter()
                .any(|s| matches!(s, Stmt::Assign(a) if a.targets.iter().any(|t| facts.same_place(t, optimizer))));
    if used_or_made_again {
        return;
    }
    sink.report(
        *first,
        format!(
            "`{}` was made before this: it keeps the old parameters alive, and the new ones are not trained",
            facts.text(optimizer)
        ),
    )
    .fix_if(false, "Make the optimizer after the change", facts.move_after(stmt, last));
}

fn mentions<'a>(facts: &Facts<'a>, stmt: &'a Stmt, what: &'a Expr) -> bool {
    facts.inside(stmt).filter_map(Node::expr).any(|e| facts.same_place(e, what) && facts.place_at(e).is_some())
}

/// `model.fc = nn.Linear(…)`, `model.resize_token_embeddings(…)`, `model = get_peft_model(model, …)`.
fn changes_parameters<'a>(facts: &Facts<'a>, stmt: &'a Stmt, model: &'a Expr) -> bool {
    match stmt {
        Stmt::Expr(expr) => expr.value.as_call_expr().is_some_and(
            |c| matches!(facts.method(c), Some((owner, "resize_token_embeddings")) if facts.same_place(owner, model)),
        ),
        Stmt::Assign(assign) => match (&assign.targets[..], &*assign.value) {
            ([Expr::Attribute(target)], Expr::Call(made)) => {
                facts.same_place(&target.value, model)
                    && facts.callee(made).is_some_and(|n| n.starts_with("torch.nn."))
                    && facts.value(&assign.value).kind == Kind::Module
                    && facts
                        .constructor(&assign.value)
                        .is_some_and(|c| !c.arguments.is_empty() && std::ptr::eq(c, made))
            }
            ([target], Expr::Call(made)) => facts.calls(made, "peft.get_peft_model") && facts.same_place(target, model),
            _ => false,
        },
        _ => false,
    }
}
