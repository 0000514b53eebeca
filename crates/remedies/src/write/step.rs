//! The training step in the user's own loop: where backward is called, and which statements before it are the forward pass.

use std::path::PathBuf;

use lint::facts::{Event, EventKind, Facts, Loop, Node};
use lint::fix::edit::Edit;
use lint::parse::ast::ExprCall;
use lint::parse::{Expr, Ranged, Stmt, TextRange};

use super::draft::{Page, is_the_users};
use super::{Draft, names};
use crate::cannot::CannotWrite;

/// One call of backward, in its block.
pub struct Backward<'a> {
    pub event: Event<'a>,
    pub stmt: &'a Stmt,
    /// The block that the statement stands in, and its place there.
    pub block: &'a [Stmt],
    pub at: usize,
}

/// The file and line where backward was called.
pub fn place(draft: &Draft<'_>) -> Result<(PathBuf, u64), CannotWrite> {
    let place = draft.script.training.backward_at.as_ref().filter(|place| is_the_users(place.file.as_ref()));
    let place = place.ok_or_else(|| {
        CannotWrite::new("no call of backward was seen in your own code", "Make the change where the loss is computed.")
    })?;
    Ok((PathBuf::from(&place.file), place.line))
}

pub fn not_recognised() -> CannotWrite {
    CannotWrite::new("the training step was not recognised", "Make the change around the forward pass.")
}

/// The calls of backward in the loop (or function) of the one that was seen on this line, in order.
pub fn backwards<'a>(page: &Page<'_, 'a>, line: u64) -> Vec<Backward<'a>> {
    let facts = page.facts;
    let Some(seen) = seen_backward(page, line) else { return Vec::new() };
    let events = facts.events_around(seen);
    let backwards = events.iter().filter(|e| e.kind == EventKind::Backward && e.happens_here());
    backwards.map(|event| found(facts, event.clone())).collect()
}

fn found<'a>(facts: &Facts<'a>, event: Event<'a>) -> Backward<'a> {
    let stmt = facts.statement(event.call);
    let (block, at) = facts.siblings(stmt);
    Backward { event, stmt, block, at }
}

fn seen_backward<'a>(page: &Page<'_, 'a>, line: u64) -> Option<&'a ExprCall> {
    let facts = page.facts;
    let calls = facts.tree().all().iter().filter_map(|node| node.call());
    let all: Vec<&ExprCall> =
        calls.filter(|call| facts.event_of(call).is_some_and(|(kind, ..)| kind == EventKind::Backward)).collect();
    let wanted = facts.source.line_of(page.anchors.at(line)?);
    let on_line = all.iter().find(|call| {
        let range = facts.statement(**call).range();
        (facts.source.line_of(range.start())..=facts.source.line_of(range.end())).contains(&wanted)
    });
    on_line.or(if all.len() == 1 { all.first() } else { None }).copied()
}

/// The statements of the forward pass that a backward belongs to: first and last, in its block.
pub fn forward<'a>(facts: &Facts<'a>, backward: &Backward<'a>, from: usize) -> Option<(usize, usize)> {
    let target = backward.event.target?;
    let chain = sources(facts, backward, target);
    let last = *chain.iter().max().filter(|last| **last >= from)?;
    let first = (from..=last).find(|at| calls_model(facts, &backward.block[*at])).unwrap_or(last);
    Some((first, last))
}

/// Which statements before backward the loss is computed by.
pub fn sources<'a>(facts: &Facts<'a>, backward: &Backward<'a>, target: &'a Expr) -> Vec<usize> {
    let mut chain: Vec<usize> = Vec::new();
    let mut open: Vec<Node<'a>> = facts.inside(target).collect();
    while let Some(node) = open.pop() {
        let Some(expr @ (Expr::Name(_) | Expr::Attribute(_))) = node.expr() else { continue };
        for def in facts.defs(expr) {
            let made = facts.def_node(def);
            let at = backward.block[..backward.at].iter().position(|stmt| facts.contains(stmt, &made));
            if let Some(at) = at.filter(|at| !chain.contains(at)) {
                chain.push(at);
                open.extend(facts.inside(&backward.block[at]));
            }
        }
    }
    chain
}

/// Methods of a module that compute nothing.
const QUIET: &[&str] = &[
    "parameters",
    "named_parameters",
    "train",
    "eval",
    "to",
    "cuda",
    "zero_grad",
    "state_dict",
    "requires_grad_",
    "modules",
];

/// Whether a statement runs a model or a loss function.
pub fn calls_model<'a>(facts: &Facts<'a>, stmt: &'a Stmt) -> bool {
    facts.inside(stmt).filter_map(Node::call).any(|call| {
        if let Some(name) = facts.callee(call) {
            return name.starts_with("torch.nn.functional.");
        }
        match facts.method(call) {
            Some((owner, name)) if facts.kind(owner).is_module() && !facts.kind(&call.func).is_module() => {
                !QUIET.contains(&name)
            }
            Some((_, "item" | "append" | "step" | "zero_grad" | "backward" | "update" | "write")) => false,
            _ => facts.kind(&call.func).is_module() || call.arguments.args.iter().any(|a| facts.kind(a).is_module()),
        }
    })
}

/// Puts the forward pass of every backward of the step into a `with`. `context` is what the header needs imported.
pub fn wrap_forward(draft: &mut Draft<'_>, header: &str, context: &str) -> Result<(), CannotWrite> {
    let (path, line) = place(draft)?;
    draft.edit(&path, |page| {
        let facts = page.facts;
        let mut edits = Vec::new();
        let library = context.split('.').next().unwrap_or(context);
        let (spelling, import) = names::module(facts, library);
        let header = header.replace(&format!("{library}."), &format!("{spelling}."));
        edits.extend(import);
        let backwards = backwards(&page, line);
        for (i, backward) in backwards.iter().enumerate() {
            let from = i.checked_sub(1).map_or(0, |before| boundary(facts, &backwards[before], backward));
            edits.extend(wrapped(facts, backward, from, &header).ok_or_else(not_recognised)?);
        }
        if backwards.is_empty() { Err(not_recognised()) } else { Ok(edits) }
    })
}

/// Where the forward pass of a backward can begin at the earliest: behind the one before it in the same block.
fn boundary<'a>(facts: &Facts<'a>, before: &Backward<'a>, backward: &Backward<'a>) -> usize {
    let holds = |stmt: &Stmt| facts.contains(stmt, before.stmt);
    backward.block[..backward.at].iter().rposition(holds).map_or(0, |at| at + 1)
}

fn wrapped<'a>(facts: &Facts<'a>, backward: &Backward<'a>, from: usize, header: &str) -> Option<Vec<Edit>> {
    let target = backward.event.target?;
    let inline = facts.inside(target).any(|node| node.call().is_some());
    match forward(facts, backward, from) {
        Some((first, last)) if !inline => facts.wrap(&backward.block[first], &backward.block[last], header),
        _ if inline => split(facts, backward, target, header),
        _ => None,
    }
}

/// `criterion(model(x), y).backward()`: the loss gets a name, so that only it stands in the `with`.
fn split<'a>(facts: &Facts<'a>, backward: &Backward<'a>, target: &'a Expr, header: &str) -> Option<Vec<Edit>> {
    let stmt = backward.stmt;
    let before = facts.insert_before(stmt, "")?;
    let indent = facts.source.indentation(stmt.start());
    let step = if indent.contains('\t') { "\t" } else { facts.indent_step() };
    let name = names::fresh(facts, &["loss", "batch_loss", "step_loss"]);
    let text = facts.source.text();
    let code = format!("{indent}{header}\n{indent}{step}{name} = {}\n", &text[target.range()]);
    let around = brackets(text, target.range(), stmt.range());
    Some(vec![Edit::insert(before.range.start(), code), Edit::replace(around, name)])
}

/// A range with the brackets directly around it: `(a + b)` of `(a + b).backward()`.
pub fn brackets(text: &str, range: TextRange, within: TextRange) -> TextRange {
    let before = text[TextRange::new(within.start(), range.start())].trim_end();
    let after = &text[TextRange::new(range.end(), within.end())];
    let bare = before.ends_with('(') && after.trim_start().starts_with(").");
    match bare {
        true => {
            let start = within.start().to_usize() + before.len() - 1;
            let end = range.end().to_usize() + after.find(')').unwrap_or(0) + 1;
            TextRange::new((start as u32).into(), (end as u32).into())
        }
        false => range,
    }
}

/// The loops around a backward, from the inside out.
pub fn loops<'a>(facts: &Facts<'a>, backward: &Backward<'a>) -> Vec<Loop<'a>> {
    facts.loops_of(backward.stmt)
}
