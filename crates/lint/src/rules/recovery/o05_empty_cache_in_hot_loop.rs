//! ## What it finds
//!
//! `torch.cuda.empty_cache()` on every batch of a loop over data.
//!
//! ## Why
//!
//! It gives the allocator's free blocks back to the driver and makes the next batch ask for them again, each time waiting for
//! the GPU. It does not give PyTorch more memory. Sometimes it hides fragmentation: then removing it raises what is reserved
//! (peft saw 19.3 GB become 23.5), so try it every few hundred batches, and `expandable_segments:True`.
//!
//! ## Bad
//!
//! ```python
//! for batch in loader:
//!     step(batch)
//!     torch.cuda.empty_cache()
//! ```
//!
//! ## Good
//!
//! ```python
//! for i, batch in enumerate(loader):
//!     step(batch)
//!     if i % 200 == 0:
//!         torch.cuda.empty_cache()
//! ```
//!
//! ## Fix
//!
//! None: it may be what keeps the program within memory.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.cuda.empty_cache`
//! - huggingface/transformers#31372, huggingface/peft#2894

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O05",
    name: "empty-cache-in-hot-loop",
    severity: Severity::Note,
    wants: &[Want::Call("torch.cuda.empty_cache")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    if facts.cleans_up_every_batch(call) {
        sink.report(
            call,
            "on every batch this waits for the GPU and hands blocks to the driver that the next batch asks for again",
        );
    }
}
