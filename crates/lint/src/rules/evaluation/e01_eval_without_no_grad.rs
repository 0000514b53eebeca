//! ## What it finds
//!
//! An evaluation loop that runs the model with gradients on.
//!
//! ## Why
//!
//! Without `torch.no_grad()` the forward keeps every activation for a `backward()` that never comes: several times the memory
//! that the evaluation needs. What is stored from it keeps the graphs of all batches.
//!
//! That it is an evaluation is read from the function's or the loader's name; functions that compute gradients are not reported.
//!
//! ## Bad
//!
//! ```python
//! def evaluate(model, loader):
//!     for x, y in loader:
//!         correct += (model(x).argmax(-1) == y).sum()
//! ```
//!
//! ## Good
//!
//! ```python
//! @torch.no_grad()
//! def evaluate(model, loader):
//!     for x, y in loader:
//!         correct += (model(x).argmax(-1) == y).sum()
//! ```
//!
//! ## Fix
//!
//! Safe as a decorator, where the whole function evaluates; suggested as `with torch.no_grad():` around the loop elsewhere.
//!
//! ## References
//!
//! - PyTorch documentation, "Locally disabling gradient computation"
//! - skorch-dev/skorch#219, facebookresearch/fairchem#199, dmlc/dgl#745

use crate::facts::{Facts, Loop, Node};
use crate::fix::edit::Edit;
use crate::parse::{Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "E01",
    name: "eval-without-no-grad",
    fix: Safety::Sometimes,
    wants: &[Want::For],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(found) = Loop::of(node).and_then(|around| facts.evaluation_with_grad(around)) else { return };
    if found.eval.is_some() || found.late.is_some() {
        return;
    }
    let function = facts.function_id(&node).filter(|id| facts.is_called_evaluation(*id));
    let what = "this evaluation keeps every activation for a `backward()` that never comes";
    let draft = sink.report(found.forward, format!("{what}: run it under `torch.no_grad()`"));
    let (spelling, import) = facts.spelling_or_import("torch.no_grad");
    match function.map(|id| facts.function(id)).filter(|f| !f.is_generator) {
        Some(function) => {
            let decorator = facts.decorate(function.stmt, &format!("@{spelling}()"));
            draft.fix("Decorate the function", [decorator].into_iter().chain(import));
        }
        None => {
            draft.fix_if(false, "Put the loop under `torch.no_grad()`", around_loop(facts, node, &spelling, import));
        }
    }
}

/// The loop under `with`, with the import where there is none.
pub(super) fn around_loop<'a>(
    facts: &Facts<'a>,
    node: Node<'a>,
    spelling: &str,
    import: Option<Edit>,
) -> Option<Vec<Edit>> {
    let stmt: &'a Stmt = node.stmt()?;
    // The import would stand where the loop begins.
    if import
        .as_ref()
        .is_some_and(|edit| edit.range.start() == facts.source.line_range(facts.source.line_of(stmt.start())).start())
    {
        return facts.wrap(stmt, stmt, "with torch.no_grad():");
    }
    let mut edits = facts.wrap(stmt, stmt, &format!("with {spelling}():"))?;
    edits.extend(import);
    Some(edits)
}
