//! Autocast around the forward pass: a new `with`, or the one that is there switched on.

use lint::facts::{Facts, Node};
use lint::fix::edit::Edit;
use lint::parse::ast::{CmpOp, ExprCall};
use lint::parse::{Expr, Stmt};

use super::options::{self, Declared};
use super::{Draft, arguments, names, step};
use crate::cannot::CannotWrite;

const AUTOCASTS: &[&str] = &["torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast"];

/// Runs the forward pass of the user's loop under autocast with this dtype.
pub fn around_forward(draft: &mut Draft<'_>, dtype: &str) -> Result<(), CannotWrite> {
    let (path, line) = step::place(draft)?;
    let found = draft.read(&path, |page| {
        let here = step::backwards(&page, line);
        let existing = here.first().and_then(|backward| existing(page.facts, backward));
        existing.map(|call| option_that_enables(page.facts, call, dtype))
    })?;
    match found {
        None => {
            let header = format!("with torch.autocast(\"cuda\", dtype=torch.{dtype}):");
            step::wrap_forward(draft, &header, "torch.autocast")
        }
        Some(Some((option, value))) => {
            options::set(draft, &option.flag, &value);
            Ok(())
        }
        Some(None) => draft.edit(&path, |page| {
            let here = step::backwards(&page, line);
            let call = here.first().and_then(|backward| existing(page.facts, backward));
            switched_on(page.facts, call.ok_or_else(step::not_recognised)?, dtype).ok_or_else(step::not_recognised)
        }),
    }
}

/// The autocast that a step has already, though it was not on: around backward's forward pass, in the same block or further out.
fn existing<'a>(facts: &Facts<'a>, backward: &step::Backward<'a>) -> Option<&'a ExprCall> {
    let inside = backward.block[..backward.at].iter().rev().flat_map(|stmt| facts.inside(stmt));
    let around = facts.ancestors_here(backward.stmt);
    inside.chain(around).find_map(|node| autocast_of(facts, node))
}

fn autocast_of<'a>(facts: &Facts<'a>, node: Node<'a>) -> Option<&'a ExprCall> {
    let Node::Stmt(Stmt::With(with)) = node else { return None };
    with.items.iter().find_map(|item| facts.as_call_of(facts.resolve(&item.context_expr), AUTOCASTS))
}

/// `enabled=args.precision == "bf16"` with the right dtype: the option that switches it on, and its value.
fn option_that_enables<'a>(facts: &Facts<'a>, call: &'a ExprCall, dtype: &str) -> Option<(Declared, String)> {
    let enabled = &call.arguments.find_keyword("enabled")?.value;
    let written = call.arguments.find_argument_value("dtype", 1)?;
    if facts.qualified(written) != Some(&format!("torch.{dtype}")) {
        return None;
    }
    let Expr::Compare(compare) = enabled else { return None };
    let ([CmpOp::Eq], [Expr::StringLiteral(value)]) = (&compare.ops[..], &compare.comparators[..]) else { return None };
    Some((options::behind(facts, &compare.left)?, value.value.to_str().to_owned()))
}

/// The autocast that is there, always on and with this dtype.
fn switched_on<'a>(facts: &Facts<'a>, call: &'a ExprCall, dtype: &str) -> Option<Vec<Edit>> {
    let (torch, import) = names::module(facts, "torch");
    let dtype = format!("{torch}.{dtype}");
    let mut edits = vec![match call.arguments.find_argument_value("dtype", 1) {
        Some(old) => Edit::replace(lint::parse::Ranged::range(old), dtype),
        None => arguments::set(facts, call, "dtype", None, &dtype)?,
    }];
    if call.arguments.find_keyword("enabled").is_some() {
        edits.push(facts.remove_keyword(call, "enabled")?);
    }
    edits.extend(import);
    Some(edits)
}
