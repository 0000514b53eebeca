//! ## What it finds
//!
//! A large model (its name says three billion parameters or more) or a diffusers pipeline for the GPU, loaded without a
//! dtype.
//!
//! ## Why
//!
//! transformers before 5 and diffusers load weights in float32, whatever the checkpoint holds: an 8B model takes 32 GB
//! instead of 16. transformers 5 keeps the checkpoint's type.
//!
//! ## Bad
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B").cuda()
//! ```
//!
//! ## Good
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", dtype=torch.bfloat16).cuda()
//! ```
//!
//! ## Fix
//!
//! Suggested: `torch_dtype=torch.bfloat16`, which every release understands.
//!
//! ## References
//!
//! - `transformers/modeling_utils.py`, `diffusers/pipelines/pipeline_utils.py`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H06",
    name: "missing-dtype",
    severity: Severity::Note,
    fix: Safety::Unsafe,
    wants: &[Want::Named("from_pretrained")],
    check,
    ..Rule::DEFAULT
};

/// Arguments that decide about the type.
const DECIDES: &[&str] =
    &["dtype", "torch_dtype", "quantization_config", "load_in_8bit", "load_in_4bit", "config", "variant", "precision"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    if facts.may_set(call, DECIDES) || facts.in_test(&node) || is_cast(facts, call) {
        return;
    }
    let Some(message) = verdict(facts, call) else { return };
    let (dtype, import) = facts.spelling_or_import("torch.bfloat16");
    let argument = facts.add_argument(call, &format!("torch_dtype={dtype}"));
    sink.report(call, message).suggest("Load in bfloat16", std::iter::once(argument).chain(import));
}

fn verdict<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<&'static str> {
    let class = facts.pretrained_class(call)?;
    if class.starts_with("diffusers.") && class.contains("Pipeline") {
        return moved_by(facts, call)
            .then_some("diffusers loads the weights in float32: half of that memory with `torch_dtype`");
    }
    let model = class.starts_with("transformers.") && (class.contains("Model") || class.contains("For"));
    let name = call.arguments.find_positional(0)?.as_string_literal_expr()?.value.to_str();
    let old = facts.project.at_least("transformers", 5, 0) != Some(true);
    (model && old && billions(name).is_some_and(|size| size >= 3.0))
        .then_some("transformers before 5 loads the weights in float32: half of that memory with `torch_dtype`")
}

/// The billions of parameters that a name states: 8 for `Llama-3.1-8B`.
fn billions(name: &str) -> Option<f64> {
    let parts = name.split(['-', '_', '/']).filter_map(|part| part.strip_suffix(['b', 'B']));
    parts.filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit())).find_map(|digits| digits.parse().ok())
}

/// `.half()` and its like on the result.
fn is_cast<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.ancestors_here(call).filter_map(Node::call).any(|outer| facts.cast(outer).is_some())
}

/// `.to("cuda")` or `.cuda()` behind it.
fn moved_by<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.ancestors_here(call).filter_map(Node::call).any(|outer| match facts.called_name(outer) {
        Some("cuda") => true,
        Some("to") => matches!(outer.arguments.find_positional(0), Some(Expr::StringLiteral(to)) if to.value.to_str().starts_with("cuda")),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_state_sizes() {
        assert_eq!(billions("meta-llama/Llama-3.1-8B"), Some(8.0));
        assert_eq!(billions("Qwen/Qwen2.5-0.5B-Instruct"), Some(0.5));
        assert_eq!(billions("tiiuae/falcon-40b-instruct"), Some(40.0));
        assert_eq!(billions("gpt2"), None);
        assert_eq!(billions("bert-base-uncased"), None);
    }
}
