//! Hugging Face: models that were loaded, quantised or not, and the trainers that they are given to.

use super::Facts;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;

impl<'a> Facts<'a> {
    /// The calls of this file whose last name is one of these.
    pub fn calls_named(&self, names: &[&str]) -> impl Iterator<Item = &'a ExprCall> {
        let calls = self.tree().all().iter().filter_map(|node| node.call());
        calls.filter(move |call| self.called_name(call).is_some_and(|name| names.contains(&name)))
    }

    /// Whether a call says `keyword=True`.
    pub fn switches_on(&self, call: &ExprCall, keyword: &str) -> bool {
        call.arguments.find_keyword(keyword).is_some_and(|k| k.value.as_boolean_literal_expr().is_some_and(|b| b.value))
    }

    /// Whether a call has one of these keywords, or a `**` that may hold them.
    pub fn may_set(&self, call: &ExprCall, keywords: &[&str]) -> bool {
        call.arguments.keywords.iter().any(|k| k.arg.as_ref().is_none_or(|name| keywords.contains(&name.as_str())))
    }

    /// A trainer of transformers or trl.
    pub fn is_trainer_call(&self, call: &ExprCall) -> bool {
        self.callee(call).is_some_and(|name| {
            matches!(name, "transformers.Trainer" | "transformers.Seq2SeqTrainer")
                || name.strip_prefix("trl.").is_some_and(|last| last.ends_with("Trainer"))
        })
    }

    /// The trainers of this file, each with the model that it is given.
    pub fn trainers(&self) -> impl Iterator<Item = (&'a ExprCall, &'a Expr)> {
        let calls = self.tree().all().iter().filter_map(|node| node.call());
        calls
            .filter(|call| self.is_trainer_call(call))
            .filter_map(|call| Some((call, call.arguments.find_argument_value("model", 0)?)))
    }

    /// The class of a `Class.from_pretrained(…)`: `transformers.AutoModelForCausalLM`.
    pub fn pretrained_class(&self, call: &ExprCall) -> Option<&str> {
        self.callee(call)?.strip_suffix(".from_pretrained")
    }

    /// Whether a `from_pretrained` loads weights in 4 or 8 bits.
    pub fn is_quantised(&self, call: &'a ExprCall) -> bool {
        let on = |call: &ExprCall| self.switches_on(call, "load_in_8bit") || self.switches_on(call, "load_in_4bit");
        let config = call.arguments.find_keyword("quantization_config");
        on(call)
            || config.is_some_and(|k| {
                let made = self.resolve(&k.value).as_call_expr();
                made.is_some_and(|made| self.is_bnb_config(made) && on(made))
            })
    }

    /// `BitsAndBytesConfig(…)` of transformers or diffusers.
    pub fn is_bnb_config(&self, call: &ExprCall) -> bool {
        self.callee(call).is_some_and(|name| {
            name.ends_with(".BitsAndBytesConfig") && (name.starts_with("transformers") || name.starts_with("diffusers"))
        })
    }
}
