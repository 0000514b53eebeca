//! ## What it finds
//!
//! Gradient accumulation that tests `step % N == 0` with an index that `enumerate` counts from 0.
//!
//! ## Why
//!
//! The test holds for the very first batch: the first step is made with one micro-batch, divided by N as if there were N, and
//! every later group is shifted by one, so that the last N - 1 batches are left over.
//!
//! ## Bad
//!
//! ```python
//! for step, batch in enumerate(loader):
//!     loss = model(**batch).loss / accum
//!     loss.backward()
//!     if step % accum == 0:
//!         optimizer.step()
//!         optimizer.zero_grad()
//! ```
//!
//! ## Good
//!
//! ```python
//! for step, batch in enumerate(loader):
//!     loss = model(**batch).loss / accum
//!     loss.backward()
//!     if (step + 1) % accum == 0:
//!         optimizer.step()
//!         optimizer.zero_grad()
//! ```
//!
//! ## Fix
//!
//! Safe: the index is counted from 1.
//!
//! ## References
//!
//! - rasbt/LLMs-from-scratch#300

use crate::facts::{Facts, Loop, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::Ranged;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "A08",
    name: "accum-off-by-one",
    severity: Severity::Warning,
    fix: Safety::Safe,
    wants: &[Want::For],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(around) = Loop::of(node) else { return };
    for found in facts.accumulations(around) {
        if !facts.is_turn_index(found.dividend, around) || !facts.steps_at_zero(found.test, found.dividend) {
            continue;
        }
        if facts.literal_one(found.divisor) || facts.in_test(&node) {
            continue;
        }
        let (index, divisor) = (facts.text(found.dividend), facts.text(found.divisor));
        let message = format!(
            "`{index}` starts at 0, so that the first step is made after one micro-batch instead of `{divisor}`, and all groups are shifted"
        );
        sink.report(found.test, message)
            .fix("Count from 1", [Edit::replace(found.dividend.range(), format!("({index} + 1)"))]);
    }
}
