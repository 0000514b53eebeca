//! ## What it finds
//!
//! A `device_map` that names only layers, without the embedding, the norm and the head.
//!
//! ## Why
//!
//! Every part of the model needs a device. Loading fails: "The `device_map` provided does not give any device for the
//! following parameters".
//!
//! ## Bad
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained("gpt2", device_map={"transformer.h.0": 0, "transformer.h.1": 1})
//! ```
//!
//! ## Good
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="balanced", max_memory={0: "10GiB", 1: "20GiB"})
//! ```
//!
//! ## Fix
//!
//! None: where the other parts go is a decision; `"balanced"` with `max_memory` decides it for you.
//!
//! ## References
//!
//! - `accelerate/utils/modeling.py`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprDict;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H08",
    name: "partial-device-map",
    severity: Severity::Error,
    wants: &[Want::Named("from_pretrained")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(given) = node.call().and_then(|call| call.arguments.find_keyword("device_map")) else { return };
    let Some(map) = facts.resolve(&given.value).as_dict_expr() else { return };
    if is_changed(facts, &given.value) || facts.in_test(&node) || map.items.is_empty() || is_all_cpu(map) {
        return;
    }
    let names_layers = map.items.iter().all(|item| item.key.as_ref().and_then(text).is_some_and(is_layer));
    if names_layers {
        sink.report(
            &given.value,
            "this map gives no device to the embedding, the norm and the head: loading fails with a ValueError",
        );
    }
}

/// The map gets more entries elsewhere: it is used for something else than this argument.
fn is_changed<'a>(facts: &Facts<'a>, map: &'a Expr) -> bool {
    facts.place_at(map).is_some_and(|place| facts.place_uses(place).len() > 1)
}

fn is_all_cpu(map: &ExprDict) -> bool {
    map.items.iter().all(|item| text(&item.value) == Some("cpu"))
}

/// `transformer.h.3`, `model.layers.0`.
fn is_layer(key: &str) -> bool {
    let parts: Vec<&str> = key.rsplit('.').take(2).collect();
    matches!(parts[..], [index, "h" | "layers" | "layer" | "blocks" | "block"]
        if !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()))
}

fn text(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|text| text.value.to_str())
}
