//! Options of the command line: the one behind a value of the script, and setting it.

use lint::facts::Facts;
use lint::parse::Expr;
use lint::parse::ast::ExprCall;

use super::Draft;

/// An option that the script itself declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    pub flag: String,
    /// It takes no value: `action="store_true"`.
    pub is_switch: bool,
}

/// The option that an expression reads: `args.batch_size` after `add_argument("--batch-size", …)`.
pub fn behind<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Option<Declared> {
    let attribute = expr.as_attribute_expr()?;
    let name = attribute.attr.as_str();
    attribute.value.as_name_expr()?;
    facts.calls_named(&["add_argument"]).find_map(|call| declared(call, name))
}

fn declared(call: &ExprCall, name: &str) -> Option<Declared> {
    let flags: Vec<&str> = call
        .arguments
        .args
        .iter()
        .filter_map(|arg| arg.as_string_literal_expr().map(|s| s.value.to_str()))
        .filter(|flag| flag.starts_with('-'))
        .collect();
    let long = flags.iter().find(|flag| flag.starts_with("--")).or(flags.first())?;
    let dest = text_of(call, "dest").map_or_else(|| long.trim_start_matches('-').replace('-', "_"), str::to_owned);
    let is_switch = text_of(call, "action") == Some("store_true");
    (dest == name).then(|| Declared { flag: (*long).to_owned(), is_switch })
}

fn text_of<'a>(call: &'a ExprCall, keyword: &str) -> Option<&'a str> {
    Some(call.arguments.find_keyword(keyword)?.value.as_string_literal_expr()?.value.to_str())
}

/// Gives an option a value in the command, where it stands or at the end.
pub fn set(draft: &mut Draft<'_>, flag: &str, value: &str) {
    let mut arguments = draft.arguments();
    let joined = format!("{flag}=");
    if let Some(at) = arguments.iter().position(|a| a == flag) {
        match arguments.get_mut(at + 1) {
            Some(old) => value.clone_into(old),
            None => arguments.push(value.to_owned()),
        }
    } else if let Some(old) = arguments.iter_mut().find(|a| a.starts_with(&joined)) {
        *old = format!("{joined}{value}");
    } else {
        arguments.extend([flag.to_owned(), value.to_owned()]);
    }
    draft.set_arguments(arguments);
}

/// Adds an option without a value to the command.
pub fn switch(draft: &mut Draft<'_>, flag: &str) {
    let mut arguments = draft.arguments();
    if !arguments.iter().any(|a| a == flag) {
        arguments.push(flag.to_owned());
    }
    draft.set_arguments(arguments);
}

/// Puts a number where the user marked it in the command.
pub fn fill(draft: &mut Draft<'_>, name: &str, value: &str) {
    let Some(placeholder) = draft.script.placeholders.iter().find(|p| p.name == name) else { return };
    let mut arguments = draft.arguments();
    if let Some(argument) = arguments.get_mut(placeholder.argument) {
        *argument = placeholder.template.replace("{}", value);
    }
    draft.set_arguments(arguments);
}
