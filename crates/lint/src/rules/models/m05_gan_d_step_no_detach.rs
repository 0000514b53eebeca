//! ## What it finds
//!
//! The discriminator's step of a GAN on generated samples that were not detached.
//!
//! ## Why
//!
//! The backward pass of the discriminator's loss goes on through the whole generator: its activations are kept and its
//! gradients allocated, in a step that does not train it (9 saved tensors instead of 1 in a test).
//!
//! ## Bad
//!
//! ```python
//! fake = G(z)
//! loss_d = bce(D(real), ones) + bce(D(fake), zeros)
//! loss_d.backward()
//! opt_d.step()
//! ```
//!
//! ## Good
//!
//! ```python
//! fake = G(z)
//! loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
//! loss_d.backward()
//! opt_d.step()
//! ```
//!
//! ## Fix
//!
//! Suggested: `.detach()` in the discriminator's step. The generator's own step must not have it.
//!
//! ## References
//!
//! - pytorch/examples#116, yunjey/pytorch-tutorial#56

use crate::facts::{Event, EventKind, Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M05",
    name: "gan-d-step-no-detach",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Named("step")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some((EventKind::Step | EventKind::ScalerStep, Some(optimizer), _)) = facts.event_of(call) else { return };
    if !is_for_discriminator(facts.text(optimizer)) {
        return;
    }
    let events = facts.events_around(call);
    for backward in since_last_step(facts, &events, call) {
        let Some(loss) = backward.target else { continue };
        for (judged, fake) in judged_fakes(facts, facts.resolve(loss)) {
            if is_differentiated(facts, fake) || is_judged_once(facts, judged, backward.call) {
                continue;
            }
            sink.report(judged, "the discriminator's backward pass goes through the generator too: its activations and gradients are kept for nothing")
                .suggest("Detach the samples here", facts.append_call(fake, ".detach()"));
        }
    }
}

/// What the discriminator says is used again behind this backward: the generator's own goes through the same graph.
fn is_judged_once<'a>(facts: &Facts<'a>, judged: &'a ExprCall, backward: &'a ExprCall) -> bool {
    let Stmt::Assign(assign) = facts.statement(judged) else { return false };
    let defs = assign.targets.iter().filter_map(|target| facts.defined_by(target));
    defs.flat_map(|def| facts.uses(def)).any(|used| facts.before(backward, used) && !facts.contains(backward, used))
}

/// `autograd.grad(…, fake, …)`: a gradient penalty that needs the samples to require gradients.
fn is_differentiated<'a>(facts: &Facts<'a>, fake: &'a Expr) -> bool {
    facts.tree().all().iter().filter_map(|n| n.call()).filter(|c| facts.calls(c, "torch.autograd.grad")).any(|grad| {
        let keyword = grad.arguments.find_keyword("inputs").map(|k| &k.value);
        keyword.or_else(|| grad.arguments.args.get(1)).is_some_and(|inputs| facts.same_place(inputs, fake))
    })
}

/// Backward passes between the optimizer step before and this one.
fn since_last_step<'e, 'a>(facts: &Facts<'a>, events: &'e [Event<'a>], call: &'a ExprCall) -> Vec<&'e Event<'a>> {
    let mut found = Vec::new();
    for event in events.iter().filter(|e| facts.before(e.call, call) && e.happens_here()) {
        match event.kind {
            EventKind::Backward => found.push(event),
            EventKind::Step | EventKind::ScalerStep => found.clear(),
            _ => {}
        }
    }
    found
}

/// `D(fake)` in a loss, where `fake` came out of a generator in this function with gradients on.
fn judged_fakes<'a>(facts: &Facts<'a>, loss: &'a Expr) -> Vec<(&'a ExprCall, &'a Expr)> {
    let parts = parts_of(facts, loss);
    let judged = parts.into_iter().filter_map(Expr::as_call_expr).filter(|c| is_discriminator(facts.text(&*c.func)));
    judged
        .filter_map(|c| c.arguments.args.first().filter(|a| a.is_name_expr()).map(|fake| (c, fake)))
        .filter(|(_, fake)| {
            facts.origin(fake).and_then(Expr::as_call_expr).is_some_and(|made| is_generated(facts, made))
        })
        .collect()
}

/// Everything that a loss is made of in this function, through names.
fn parts_of<'a>(facts: &Facts<'a>, loss: &'a Expr) -> Vec<&'a Expr> {
    let mut parts: Vec<&'a Expr> = Vec::new();
    let mut open = vec![loss];
    while let Some(next) = open.pop().filter(|_| parts.len() < 200) {
        for part in facts.inside(next).filter_map(Node::expr) {
            let made = facts.resolve(part);
            if part.is_name_expr() && !std::ptr::eq(made, part) && !parts.iter().any(|p| std::ptr::eq(*p, made)) {
                open.push(made);
            }
            parts.push(part);
        }
    }
    parts
}

fn is_generated<'a>(facts: &Facts<'a>, made: &'a ExprCall) -> bool {
    let name = last_name(facts.text(&*made.func));
    facts.kind(&made.func) == Kind::Module
        && matches!(&name[..], "g" | "netg" | "generator" | "gen" | "net_g" | "model_g")
        && !facts.grad_disabled(made)
}

fn is_discriminator(text: &str) -> bool {
    matches!(&last_name(text)[..], "d" | "netd" | "discriminator" | "disc" | "net_d" | "model_d" | "critic")
}

fn is_for_discriminator(text: &str) -> bool {
    let name = last_name(text);
    ["_d", "optimizerd", "_disc", "_discriminator", "optd", "_critic"].iter().any(|end| name.ends_with(end))
        || ["d_opt", "disc_opt", "discriminator_opt"].iter().any(|start| name.starts_with(start))
}

fn last_name(text: &str) -> String {
    text.rsplit('.').next().unwrap_or(text).to_ascii_lowercase()
}
