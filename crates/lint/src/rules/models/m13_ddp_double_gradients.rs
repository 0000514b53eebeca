//! ## What it finds
//!
//! `DistributedDataParallel` without `gradient_as_bucket_view=True`. Off unless selected.
//!
//! ## Why
//!
//! Gradients are kept twice: as `.grad` and in the buckets that are sent. With the option they share memory, and as much as
//! all gradients is saved. It does not go together with code that calls `grad.detach_()`.
//!
//! ## Bad
//!
//! ```python
//! model = DDP(model, device_ids=[rank], find_unused_parameters=True)
//! ```
//!
//! ## Good
//!
//! ```python
//! model = DDP(model, device_ids=[rank], gradient_as_bucket_view=True)
//! ```
//!
//! ## Fix
//!
//! Suggested: the option is added.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.nn.parallel.DistributedDataParallel`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::rule::{Default, Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M13",
    name: "ddp-double-gradients",
    severity: Severity::Note,
    default: Default::Off,
    fix: Safety::Unsafe,
    wants: &[Want::Call("torch.nn.parallel.DistributedDataParallel")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let chosen = call.arguments.keywords.iter().any(|k| k.arg.as_ref().is_none_or(|n| n == "gradient_as_bucket_view"));
    if !chosen {
        sink.report(call, "gradients are kept twice, once in the buckets that are sent")
            .suggest("Let them share memory", [facts.add_argument(call, "gradient_as_bucket_view=True")]);
    }
}
