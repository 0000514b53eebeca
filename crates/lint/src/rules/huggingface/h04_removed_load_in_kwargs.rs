//! ## What it finds
//!
//! `from_pretrained(…, load_in_8bit=True)` and `load_in_4bit=True`, without a `quantization_config`.
//!
//! ## Why
//!
//! transformers 5 has removed these arguments: loading fails with a TypeError. Late 4.x releases warn.
//!
//! ## Bad
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained(name, load_in_8bit=True)
//! ```
//!
//! ## Good
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_8bit=True))
//! ```
//!
//! ## Fix
//!
//! Safe for a literal `True`: the argument is wrapped into a `BitsAndBytesConfig`, with the import it needs. Suggested for a
//! variable.
//!
//! ## References
//!
//! - the migration guide of transformers 5

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::Ranged;
use crate::parse::ast::{ExprCall, Keyword};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H04",
    name: "removed-load-in-kwargs",
    severity: Severity::Error,
    fix: Safety::Sometimes,
    wants: &[Want::Named("from_pretrained")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|call| loads_model(facts, call)) else { return };
    let given: Vec<&Keyword> = ["load_in_8bit", "load_in_4bit"]
        .iter()
        .filter_map(|name| call.arguments.find_keyword(name))
        .filter(|k| k.value.as_boolean_literal_expr().is_none_or(|b| b.value))
        .collect();
    let Some(first) = given.first().filter(|_| !facts.project.only_before("transformers", 5, 0)) else { return };
    let message = "transformers 5 has no `load_in_8bit` and `load_in_4bit` here: pass a `quantization_config`";
    let sure = facts.project.at_least("transformers", 5, 0) == Some(true);
    let severity = if sure { Severity::Error } else { Severity::Warning };
    let literal = first.value.is_boolean_literal_expr();
    let edits = (given.len() == 1).then(|| wrapped(facts, call, first)).flatten();
    sink.report(*first, message).severity(severity).fix_if(literal, "Wrap it into a `BitsAndBytesConfig`", edits);
}

/// A model of transformers, or of a library that hands its arguments on to transformers.
fn loads_model<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let Some(class) = facts.pretrained_class(call) else { return false };
    let known = ["transformers.", "peft.AutoPeft", "trl."].iter().any(|library| class.starts_with(library));
    known && facts.kind(&call.func) != Kind::Tokenizer && !class.ends_with("Config")
}

fn wrapped(facts: &Facts<'_>, call: &ExprCall, keyword: &Keyword) -> Option<Vec<Edit>> {
    if call.arguments.find_keyword("quantization_config").is_some() {
        return None;
    }
    let (class, import) = facts.spelling_or_import("transformers.BitsAndBytesConfig");
    let argument = &facts.source.text()[keyword.range()];
    let edit = Edit::replace(keyword.range(), format!("quantization_config={class}({argument})"));
    Some(std::iter::once(edit).chain(import).collect())
}
