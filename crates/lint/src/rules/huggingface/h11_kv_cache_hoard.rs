//! ## What it finds
//!
//! `past_key_values` put into a dict or list, one for each user or request.
//!
//! ## Why
//!
//! A key-value cache is layers × 2 × batch × heads × length × width, hundreds of megabytes for a long conversation, and
//! nothing bounds how many there are. A server runs out of memory after enough users.
//!
//! ## Bad
//!
//! ```python
//! caches[user] = model(ids, use_cache=True).past_key_values
//! ```
//!
//! ## Good
//!
//! ```python
//! caches[user] = StaticCache(config=model.config, max_cache_len=2048)
//! ```
//!
//! ## Fix
//!
//! None: bound the number of caches, or their length.
//!
//! ## References
//!
//! - huggingface/transformers#31717

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H11",
    name: "kv-cache-hoard",
    severity: Severity::Note,
    wants: &[Want::Attribute("past_key_values")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    if facts.in_test(&node) || !is_kept(facts, &node) || is_bounded(facts) {
        return;
    }
    sink.report(
        node,
        "key-value caches are collected and nothing bounds how many: hundreds of megabytes for each long sequence",
    );
}

/// `caches[user] = ….past_key_values`, `caches.append(….past_key_values)`.
fn is_kept<'a>(facts: &Facts<'a>, node: &Node<'a>) -> bool {
    match facts.parent(node) {
        Some(Node::Stmt(Stmt::Assign(assign))) => match &assign.targets[..] {
            // `kwargs["past_key_values"] = …` hands it on to the next step.
            [Expr::Subscript(target)] => {
                let literal = target.slice.is_string_literal_expr() || target.slice.is_number_literal_expr();
                !literal && facts.id(&*assign.value) == facts.id(node)
            }
            _ => false,
        },
        Some(Node::Expr(Expr::Call(call))) => facts.method(call).is_some_and(|(_, name)| name == "append"),
        _ => false,
    }
}

/// Something takes caches out again.
fn is_bounded(facts: &Facts<'_>) -> bool {
    facts.calls_named(&["pop", "popitem", "popleft", "clear", "OrderedDict", "LRUCache", "TTLCache"]).next().is_some()
        || facts.tree().all().iter().any(|n| matches!(n, Node::Stmt(Stmt::Delete(_))))
}
