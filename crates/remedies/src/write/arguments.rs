//! Arguments of calls: the call that stands on a line, and a keyword of it changed or added.

use std::path::PathBuf;

use lint::facts::Facts;
use lint::fix::edit::Edit;
use lint::parse::ast::ExprCall;
use lint::parse::{Ranged, TextRange};

use super::Draft;
use super::draft::Page;
use crate::cannot::CannotWrite;
use crate::script::Place;

/// The call of one of these names (the last part counts) that was seen on a line of the unchanged file.
pub fn call_at<'a>(page: &Page<'_, 'a>, line: u64, names: &[&str]) -> Option<&'a ExprCall> {
    let facts = page.facts;
    let named: Vec<&ExprCall> = calls(facts).filter(|call| is_named(facts, call, names)).collect();
    let at = page.anchors.at(line)?;
    let wanted = facts.source.line_of(at);
    let covers = |call: &&&'a ExprCall| {
        let (first, last) = (facts.source.line_of(call.start()), facts.source.line_of(call.end()));
        (first..=last).contains(&wanted)
    };
    // A call that goes over several lines may have been seen on any of them; a statement that makes it, on its first.
    let here = named.iter().filter(covers).min_by_key(|call| call.range().len());
    let in_statement = || {
        let mut inside = named.iter().filter(|call| facts.source.line_of(facts.statement(**call).start()) == wanted);
        inside.next().filter(|_| inside.next().is_none())
    };
    here.or_else(in_statement).copied()
}

pub fn calls<'f, 'a>(facts: &'f Facts<'a>) -> impl Iterator<Item = &'a ExprCall> + use<'f, 'a> {
    facts.tree().all().iter().filter_map(|node| node.call())
}

pub fn is_named<'a>(facts: &Facts<'a>, call: &'a ExprCall, names: &[&str]) -> bool {
    let last = facts.callee(call).and_then(|name| name.rsplit('.').next()).or_else(|| facts.called_name(call));
    last.is_some_and(|name| names.contains(&name))
}

/// Gives a keyword a value: in place of the old one, or behind the other arguments. `None` where `**options` may hold it.
pub fn set(facts: &Facts<'_>, call: &ExprCall, keyword: &str, position: Option<usize>, value: &str) -> Option<Edit> {
    let old = call.arguments.find_keyword(keyword).map(|k| k.value.range());
    let old = old.or_else(|| position.and_then(|at| call.arguments.find_positional(at)).map(Ranged::range));
    match old {
        Some(range) => Some(Edit::replace(range, value)),
        None if has_unpacked(call) => None,
        None => Some(added(facts, call, &format!("{keyword}={value}"))),
    }
}

/// Lines longer than this are broken, where they were not as long before.
pub const WIDEST: usize = 120;

/// An argument behind the others; the arguments go on a line of their own where the line would get too long.
fn added(facts: &Facts<'_>, call: &ExprCall, argument: &str) -> Edit {
    let (source, range) = (facts.source, call.arguments.range());
    let line = source.line_range(source.line_of(range.start()));
    let length = usize::from(line.len());
    let one_line = source.line_of(range.start()) == source.line_of(range.end());
    let behind = source.text()[TextRange::new(range.end(), line.end().max(range.end()))].trim();
    if !one_line || !behind.is_empty() || length > WIDEST || length + argument.len() + 2 <= WIDEST {
        return facts.add_argument(call, argument);
    }
    let indent = source.indentation(range.start());
    let step = if indent.contains('\t') { "\t" } else { facts.indent_step() };
    let inner = &source.text()[range][1..usize::from(range.len()) - 1];
    let given = if inner.is_empty() { argument.to_owned() } else { format!("{inner}, {argument}") };
    Edit::replace(range, format!("(\n{indent}{step}{given}\n{indent})"))
}

pub fn has_unpacked(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|k| k.arg.is_none()) || call.arguments.args.iter().any(|a| a.is_starred_expr())
}

/// Gives a keyword of the call on a line a value.
pub fn set_at(
    draft: &mut Draft<'_>,
    place: &Place,
    names: &[&str],
    (keyword, position): (&str, usize),
    value: &str,
) -> Result<(), CannotWrite> {
    draft.edit(&PathBuf::from(&place.file), |page| {
        let hand = || {
            let what = names.join(" or ");
            CannotWrite::new(
                format!("the call of {what} was not recognised at line {}", place.line),
                format!("Give it `{keyword}={value}`."),
            )
        };
        let call = call_at(&page, place.line, names).ok_or_else(hand)?;
        Ok(vec![set(page.facts, call, keyword, Some(position), value).ok_or_else(hand)?])
    })
}
