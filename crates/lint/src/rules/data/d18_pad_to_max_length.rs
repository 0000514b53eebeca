//! ## What it finds
//!
//! `tokenizer(texts, padding="max_length", max_length=4096)`: every text is padded to a large fixed length.
//!
//! ## Why
//!
//! Activations of every layer grow with the padded length, attention scores with its square. Padding to the longest text of
//! the batch costs what the batch needs. Fixed lengths are right for TPUs and for compiled models.
//!
//! ## Bad
//!
//! ```python
//! enc = tokenizer(texts, padding="max_length", max_length=4096, truncation=True)
//! ```
//!
//! ## Good
//!
//! ```python
//! enc = tokenizer(texts, padding="longest", pad_to_multiple_of=64, truncation=True, max_length=4096)
//! ```
//!
//! ## Fix
//!
//! Suggested: `padding="longest"`. Where texts are tokenized one by one, a data collator has to pad instead.
//!
//! ## References
//!
//! - Transformers documentation, "Padding and truncation"

use crate::facts::{Facts, Kind, Node, literal_number};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D18",
    name: "pad-to-max-length",
    severity: Severity::Note,
    fix: Safety::Unsafe,
    wants: &[Want::Calls],
    check,
    ..Rule::DEFAULT
};

/// Shorter fixed lengths are seldom what fills a GPU.
const LARGE: u64 = 1024;

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some(padding) = call.arguments.find_keyword("padding") else { return };
    let Expr::StringLiteral(text) = &padding.value else { return };
    let length = call.arguments.find_keyword("max_length").map(|k| facts.resolve(&k.value));
    if text.value.to_str() != "max_length" || length.is_none_or(|n| literal_number(n).is_none_or(|n| n < LARGE)) {
        return;
    }
    let is_tokenizer = facts.is(&call.func, Kind::Tokenizer)
        || facts.method(call).is_some_and(|(owner, _)| facts.is(owner, Kind::Tokenizer));
    let fixed_shapes = facts.imports("torch_xla") || facts.mentions("torch.compile") || facts.in_test(&node);
    if is_tokenizer && !fixed_shapes {
        sink.report(
            padding,
            "every text is padded to the full length: activations are paid for padding, attention with its square",
        )
        .suggest("Pad to the longest text of the batch", [Edit::replace(padding.value.range(), "\"longest\"")]);
    }
}
