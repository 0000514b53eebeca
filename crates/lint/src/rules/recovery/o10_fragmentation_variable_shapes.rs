//! ## What it finds
//!
//! Batches that a tokenizer pads to their longest text, with neither a limit nor a multiple, in a file that does not set
//! `expandable_segments`. Off by default: it is true of many scripts that never run out of memory.
//!
//! ## Why
//!
//! Every batch has another length, so that blocks of the last batch rarely fit the next one: memory fragments. torchtune saw
//! 16.4 GB reserved become 10.8 with `expandable_segments:True`.
//!
//! ## Bad
//!
//! ```python
//! batch = tokenizer(texts, padding=True, return_tensors="pt")
//! ```
//!
//! ## Good
//!
//! ```python
//! batch = tokenizer(texts, padding=True, pad_to_multiple_of=64, truncation=True, max_length=1024, return_tensors="pt")
//! ```
//!
//! ## Fix
//!
//! Suggested: `pad_to_multiple_of=64`.
//!
//! ## References
//!
//! - PyTorch documentation, "CUDA semantics", memory management
//! - pytorch/torchtune#1185

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};
use crate::rule::{Default, Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O10",
    name: "fragmentation-variable-shapes",
    severity: Severity::Note,
    default: Default::Off,
    fix: Safety::Unsafe,
    wants: &[Want::Calls],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|call| pads_to_longest(call)) else { return };
    let by_method = facts.method(call).is_some_and(|(owner, name)| name == "pad" && facts.is(owner, Kind::Tokenizer));
    if !by_method && !facts.is(&call.func, Kind::Tokenizer) {
        return;
    }
    if facts.source.text().contains("expandable_segments")
        || facts.in_test(&node)
        || !may_train(facts)
        || facts.grad_disabled(call)
    {
        return;
    }
    sink.report(call, "every batch has another length, which fragments the GPU's memory: pad to a multiple, or set `expandable_segments:True`")
        .suggest("Pad to a multiple of 64", [facts.add_argument(call, "pad_to_multiple_of=64")]);
}

/// The file trains, or is only a fragment.
fn may_train(facts: &Facts<'_>) -> bool {
    let whole = facts.parsed.body().iter().any(|stmt| matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_)));
    let trains = || {
        let calls = facts.tree().all().iter().filter_map(|n| n.call());
        calls
            .into_iter()
            .any(|c| matches!(facts.called_name(c), Some("backward" | "Trainer" | "Seq2SeqTrainer" | "SFTTrainer")))
    };
    !whole || trains()
}

fn pads_to_longest(call: &ExprCall) -> bool {
    let Some(padding) = call.arguments.find_keyword("padding") else { return false };
    let longest = match &padding.value {
        Expr::BooleanLiteral(on) => on.value,
        Expr::StringLiteral(text) => text.value.to_str() == "longest",
        _ => false,
    };
    let bounded = |k: &crate::parse::ast::Keyword| {
        k.arg.as_ref().is_none_or(|name| matches!(name.as_str(), "pad_to_multiple_of" | "max_length" | "truncation"))
    };
    longest && !call.arguments.keywords.iter().any(bounded)
}
