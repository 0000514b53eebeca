//! ## What it finds
//!
//! A loss computed under float16 autocast and a plain `backward()` on it, without a gradient scaler. CUDA's autocast uses
//! float16 when no type is given.
//!
//! ## Why
//!
//! Small gradients become zero in float16: parts of the model stop learning. bfloat16 has the range of float32 and needs no
//! scaler.
//!
//! ## Bad
//!
//! ```python
//! with torch.autocast("cuda", dtype=torch.float16):
//!     loss = criterion(model(x), y)
//! loss.backward()
//! ```
//!
//! ## Good
//!
//! ```python
//! with torch.autocast("cuda", dtype=torch.bfloat16):
//!     loss = criterion(model(x), y)
//! loss.backward()
//! ```
//!
//! ## Fix
//!
//! Suggested: bfloat16, on GPUs that have it (Ampere and later).
//!
//! ## References
//!
//! - PyTorch documentation, `torch.amp`, "Gradient Scaling"

use crate::facts::{Dtype, Event, EventKind, Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::{ExprCall, StmtWith};
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P06",
    name: "fp16-autocast-without-scaler",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::With],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(Stmt::With(with)) = node else { return };
    let Some((call, Some(Dtype::Half))) = facts.autocast(with) else { return };
    if somebody_scales(facts) || facts.in_test(&node) || facts.grad_disabled(call) {
        return;
    }
    let plain = |e: &Event<'a>| e.kind == EventKind::Backward && e.by.is_none() && e.happens_here();
    let trains = facts
        .events_around(call)
        .iter()
        .filter(|e| plain(e))
        .any(|e| e.target.is_some_and(|loss| is_made_in(facts, loss, with)));
    if trains {
        sink.report(call, "float16 gradients without a scaler: small ones become zero and are lost").fix_if(
            false,
            "Use bfloat16",
            edits(facts, call),
        );
    }
}

/// Any sign of a scaler, also one that comes from outside.
fn somebody_scales(facts: &Facts<'_>) -> bool {
    facts.says(&["caler", "loss_scale"]) || facts.mentions("torch.set_autocast_gpu_dtype") || facts.mentions("apex")
}

fn is_made_in<'a>(facts: &Facts<'a>, loss: &'a Expr, with: &'a StmtWith) -> bool {
    facts.contains(with, loss) || facts.defs(loss).iter().any(|def| facts.contains(with, &facts.def_node(*def)))
}

fn edits<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<Vec<Edit>> {
    let bfloat = facts.spelling("torch.bfloat16")?;
    Some(vec![match call.arguments.find_argument_value("dtype", 1) {
        Some(dtype) => Edit::replace(dtype.range(), bfloat),
        None => facts.add_argument(call, &format!("dtype={bfloat}")),
    }])
}
