//! ## What it finds
//!
//! A loop that accumulates gradients over N batches, but calls `backward()` on the whole loss of each: nothing divides it by N.
//!
//! ## Why
//!
//! Gradients add up. Accumulated over N micro-batches they are N times those of one large batch, which is N times the
//! learning rate: the remedy for memory changes the training.
//!
//! ## Bad
//!
//! ```python
//! for i, (x, y) in enumerate(loader):
//!     loss = criterion(model(x), y)
//!     loss.backward()
//!     if (i + 1) % accum == 0:
//!         optimizer.step()
//!         optimizer.zero_grad()
//! ```
//!
//! ## Good
//!
//! ```python
//! for i, (x, y) in enumerate(loader):
//!     loss = criterion(model(x), y) / accum
//!     loss.backward()
//!     if (i + 1) % accum == 0:
//!         optimizer.step()
//!         optimizer.zero_grad()
//! ```
//!
//! ## Fix
//!
//! Suggested: the loss is divided where `backward()` is called. Language models with batches of unequal length should divide
//! by the number of tokens of all N batches instead.
//!
//! ## References
//!
//! - karpathy/nanoGPT#206
//! - huggingface/transformers#34191

use crate::facts::{Accumulation, EventKind, Facts, Kind, Loop, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::{ExprCall, Keyword};
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "A02",
    name: "accum-loss-not-divided",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::For, Want::While],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(around) = Loop::of(node) else { return };
    for found in facts.accumulations(around) {
        let Some(loss) = found.backward.target else { continue };
        if !found.backward.is_unconditional() || is_somebody_elses(facts, &found) || is_scaled_down(facts, &found, loss)
        {
            continue;
        }
        let divisor = facts.text(found.divisor);
        let message = format!(
            "gradients of {divisor} micro-batches are added up and the loss is not divided by `{divisor}`: each step is that many times too large"
        );
        sink.report(found.backward.call, message).fix_if(
            false,
            "Divide the loss",
            Some(vec![divide(facts, loss, found.divisor)]),
        );
    }
}

/// Accelerate, DeepSpeed and Fabric divide by themselves when they are told; cleared on every turn is A01.
fn is_somebody_elses<'a>(facts: &Facts<'a>, found: &Accumulation<'a>) -> bool {
    let by = found.backward.by.is_some_and(|by| !facts.is(by, Kind::Scaler) && !does_not_divide(facts, by));
    let cleared = facts.events(&found.around).iter().any(|e| e.kind == EventKind::ZeroGrad && e.is_unconditional());
    by || cleared || facts.in_test(found.step.call) || facts.literal_one(found.divisor)
}

/// An accelerator that was not told how many batches are accumulated.
fn does_not_divide<'a>(facts: &Facts<'a>, by: &'a Expr) -> bool {
    let made = facts.constructors(by);
    let untold = |call: &&ExprCall| {
        let told = |k: &Keyword| {
            k.arg
                .as_ref()
                .is_none_or(|name| name.starts_with("gradient_accumulation") || name.starts_with("deepspeed_plugin"))
        };
        facts.calls(call, "accelerate.Accelerator") && !call.arguments.keywords.iter().any(told)
    };
    !made.is_empty() && made.iter().all(untold)
}

/// Divided by N somewhere, by anything here, or the gradients are scaled before the step.
fn is_scaled_down<'a>(facts: &Facts<'a>, found: &Accumulation<'a>, loss: &'a Expr) -> bool {
    let all = facts.tree().all().iter().copied();
    if facts.divides_by(all, found.divisor) {
        return true;
    }
    let rescales = |node: Node<'a>| match node {
        Node::Expr(Expr::Attribute(attribute)) => attribute.attr.as_str() == "grad",
        Node::Expr(Expr::StringLiteral(text)) => text.value.to_str() == "sum",
        Node::Expr(Expr::Call(call)) => {
            facts.called_name(call).is_some_and(|name| name.contains("scale_grad") || name.contains("grad_scale"))
        }
        _ => false,
    };
    facts.inside(&found.around).any(rescales) || facts.is_quotient(loss) || facts.mentions_reduction_sum()
}

fn divide<'a>(facts: &Facts<'a>, loss: &'a Expr, divisor: &'a Expr) -> Edit {
    let (loss_text, divisor) = (facts.text(loss), facts.text(divisor));
    let simple = matches!(loss, Expr::Name(_) | Expr::Attribute(_) | Expr::Call(_) | Expr::Subscript(_));
    let loss_text = if simple { loss_text.to_owned() } else { format!("({loss_text})") };
    // As the owner of `.backward()` it needs brackets; as an argument it has the call's.
    let is_owner = matches!(facts.parent(loss), Some(Node::Expr(Expr::Attribute(_))));
    let quotient = format!("{loss_text} / {divisor}");
    Edit::replace(loss.range(), if is_owner { format!("({quotient})") } else { quotient })
}
