//! ## What it finds
//!
//! `nn.DataParallel`.
//!
//! ## Why
//!
//! The outputs of all GPUs are gathered on the first one, and the loss is computed there: with large logits it runs out of
//! memory while the others are half empty. PyTorch itself recommends `DistributedDataParallel`, also on one machine.
//!
//! ## Bad
//!
//! ```python
//! model = nn.DataParallel(Net()).cuda()
//! ```
//!
//! ## Good
//!
//! ```python
//! model = DDP(Net().cuda(local_rank), device_ids=[local_rank])
//! ```
//!
//! ## Fix
//!
//! None: the script has to be started once for each GPU.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.nn.DataParallel`
//! - pytorch/pytorch#1893

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D15",
    name: "dataparallel-imbalance",
    severity: Severity::Note,
    wants: &[Want::Call("torch.nn.DataParallel")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    sink.report(call, "the outputs of every GPU are gathered on the first one, which runs out of memory before the others; `DistributedDataParallel` does not gather");
}
