//! Arguments of frameworks: `TrainingArguments(…)`, Lightning's `Trainer(…)`, `Accelerator(…)`.

use lint::facts::{Facts, literal_number};
use lint::parse::Expr;
use lint::parse::ast::ExprCall;

use super::options::{self, Declared};
use super::{Draft, arguments};
use crate::cannot::CannotWrite;

/// Whose argument it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    TrainingArguments,
    LightningTrainer,
    Accelerator,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Target::TrainingArguments => "TrainingArguments",
            Target::LightningTrainer => "Trainer",
            Target::Accelerator => "Accelerator",
        }
    }

    fn is_made_by<'a>(self, facts: &Facts<'a>, call: &'a ExprCall) -> bool {
        let name = facts.callee(call).unwrap_or_default();
        match self {
            // trl's configurations derive from it.
            Target::TrainingArguments => {
                name.ends_with("TrainingArguments") || (name.starts_with("trl.") && name.ends_with("Config"))
            }
            Target::LightningTrainer => name == "lightning.Trainer",
            Target::Accelerator => name == "accelerate.Accelerator",
        }
    }
}

/// What stands for an argument now.
enum Now {
    /// An option of the command line decides.
    Option(Declared),
    /// The call can be edited.
    Call,
    /// The arguments are parsed from the command line (`HfArgumentParser`).
    Parsed,
    NotHere,
}

/// Gives an argument of a framework a value: in the call, or on the command line where the value comes from there.
pub fn set(draft: &mut Draft<'_>, target: Target, keyword: &str, value: &str) -> Result<(), CannotWrite> {
    for path in draft.seen() {
        let now = draft.read(&path, |page| now(page.facts, target, keyword))?;
        match now {
            Now::Option(option) => {
                set_option(draft, &option, value);
                return Ok(());
            }
            Now::Parsed => {
                let option = Declared { flag: format!("--{keyword}"), is_switch: value == "True" };
                set_option(draft, &option, value);
                return Ok(());
            }
            Now::Call => {
                return draft.edit(&path, |page| {
                    let facts = page.facts;
                    let call = arguments::calls(facts).find(|call| target.is_made_by(facts, call));
                    let edit = call.and_then(|call| arguments::set(facts, call, keyword, None, value));
                    edit.map(|edit| vec![edit]).ok_or_else(|| by_hand(target, keyword, value))
                });
            }
            Now::NotHere => {}
        }
    }
    Err(by_hand(target, keyword, value))
}

fn by_hand(target: Target, keyword: &str, value: &str) -> CannotWrite {
    CannotWrite::new(format!("where {} is made was not found", target.name()), format!("Give it `{keyword}={value}`."))
}

fn now<'a>(facts: &Facts<'a>, target: Target, keyword: &str) -> Now {
    let Some(call) = arguments::calls(facts).find(|call| target.is_made_by(facts, call)) else {
        let parser = facts.calls_named(&["HfArgumentParser"]).next();
        let parses = target == Target::TrainingArguments && parser.is_some();
        return if parses { Now::Parsed } else { Now::NotHere };
    };
    let value = call.arguments.find_keyword(keyword).map(|k| &k.value);
    match value.and_then(|value| options::behind(facts, value)) {
        Some(option) => Now::Option(option),
        None => Now::Call,
    }
}

fn set_option(draft: &mut Draft<'_>, option: &Declared, value: &str) {
    match option.is_switch && value == "True" {
        true => options::switch(draft, &option.flag),
        false => options::set(draft, &option.flag, value.trim_matches('"')),
    }
}

/// The whole number that an argument has now, when it is written down.
pub fn number(draft: &mut Draft<'_>, target: Target, keyword: &str) -> Option<u64> {
    draft.seen().into_iter().find_map(|path| {
        let asked = draft.read(&path, |page| {
            let facts = page.facts;
            let call = arguments::calls(facts).find(|call| target.is_made_by(facts, call))?;
            literal_value(facts, &call.arguments.find_keyword(keyword)?.value)
        });
        asked.ok().flatten()
    })
}

fn literal_value<'a>(facts: &Facts<'a>, value: &'a Expr) -> Option<u64> {
    literal_number(facts.resolve(value))
}
