//! ## What it finds
//!
//! `DataLoader(…, pin_memory=True)` without workers, where no copy to the GPU is asynchronous.
//!
//! ## Why
//!
//! Without workers the main process itself copies each batch into page-locked memory and then waits for the copy to the GPU:
//! page-locked host memory for nothing. Pinning never saves GPU memory.
//!
//! ## Bad
//!
//! ```python
//! loader = DataLoader(ds, batch_size=64, pin_memory=True)
//! for x, y in loader:
//!     x = x.cuda()
//! ```
//!
//! ## Good
//!
//! ```python
//! loader = DataLoader(ds, batch_size=64, num_workers=4, pin_memory=True)
//! for x, y in loader:
//!     x = x.cuda(non_blocking=True)
//! ```
//!
//! ## Fix
//!
//! None: workers and `non_blocking=True` are as good an answer as dropping it.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.utils.data`, "Memory pinning"

use crate::facts::{Facts, Framework, Node, literal_number};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D04",
    name: "pin-memory-pointless",
    severity: Severity::Note,
    wants: &[Want::Call("torch.utils.data.DataLoader")],
    check,
    ..Rule::DEFAULT
};

/// These move batches themselves.
const OWNERS: &[Framework] = &[Framework::Lightning, Framework::Trainer, Framework::Accelerate, Framework::Fabric];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let pinned = call.arguments.find_keyword("pin_memory").filter(|k| is_true(&k.value));
    let Some(pinned) = pinned else { return };
    let workers = call.arguments.find_argument_value("num_workers", 5);
    let has_workers = workers.is_some_and(|n| literal_number(n) != Some(0));
    let unpacks = call.arguments.keywords.iter().any(|k| k.arg.is_none());
    if has_workers || unpacks || OWNERS.iter().any(|f| facts.uses_framework(*f)) {
        return;
    }
    if copies_and_waits(facts) {
        sink.report(pinned, "without workers and with copies that wait, pinning only costs page-locked host memory");
    }
}

/// Batches are moved in this file, and never asynchronously.
fn copies_and_waits(facts: &Facts<'_>) -> bool {
    let mut moves =
        facts.tree().all().iter().filter_map(|n| n.call()).filter(|c| facts.sent_to_gpu(c).is_some()).peekable();
    moves.peek().is_some() && moves.all(|c| c.arguments.find_keyword("non_blocking").is_none())
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::BooleanLiteral(literal) if literal.value)
}
