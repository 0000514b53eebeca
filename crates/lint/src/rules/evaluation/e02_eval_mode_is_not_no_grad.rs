//! ## What it finds
//!
//! `model.eval()` before an evaluation loop, and no `torch.no_grad()`.
//!
//! ## Why
//!
//! `eval()` changes what dropout and batch normalisation do. It does not switch gradients off: the forward still keeps every
//! activation for a `backward()` that never comes, several times the memory that the evaluation needs.
//!
//! ## Bad
//!
//! ```python
//! model.eval()
//! for x, y in val_loader:
//!     loss = criterion(model(x), y)
//! ```
//!
//! ## Good
//!
//! ```python
//! model.eval()
//! with torch.no_grad():
//!     for x, y in val_loader:
//!         loss = criterion(model(x), y)
//! ```
//!
//! ## Fix
//!
//! Safe: the loop goes under `with torch.no_grad():`. A loop with a string over several lines is left alone.
//!
//! ## References
//!
//! - PyTorch documentation, "Evaluation Mode (nn.Module.eval())"
//! - skorch-dev/skorch#219

use super::e01_eval_without_no_grad::around_loop;
use crate::facts::{Facts, Loop, Node};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "E02",
    name: "eval-mode-is-not-no-grad",
    fix: Safety::Safe,
    wants: &[Want::For],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(found) = Loop::of(node).and_then(|around| facts.evaluation_with_grad(around)) else { return };
    let Some(eval) = found.eval.filter(|_| found.late.is_none()) else { return };
    let (spelling, import) = facts.spelling_or_import("torch.no_grad");
    let how = facts.text(eval);
    sink.report(
        found.forward,
        format!("`{how}` does not switch gradients off: every activation is kept for a `backward()` that never comes"),
    )
    .fix_if(true, "Put the loop under `torch.no_grad()`", around_loop(facts, node, &spelling, import));
}
