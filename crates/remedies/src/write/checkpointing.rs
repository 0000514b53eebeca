//! Activation checkpointing in code: a library's own switch, the user's own option, the loop over the blocks in `forward`, or
//! the blocks' `forward` wrapped behind the model.

use std::path::Path;

use lint::facts::{Facts, Node};
use lint::fix::edit::Edit;
use lint::parse::ast::{ExprCall, ExprIf, StmtFor};
use lint::parse::{Expr, Ranged, Stmt};

use super::frameworks::{self, Target};
use super::options::{self, Declared};
use super::{Draft, made, names};
use crate::cannot::CannotWrite;
use crate::remedies::checkpointed;
use crate::remedy::Settings;
use crate::script::{Framework, Model};

const MODULE: &str = "torch.utils.checkpoint";
const ENABLE: &str = "gradient_checkpointing_enable(gradient_checkpointing_kwargs={\"use_reentrant\": False})";

pub fn write(settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
    let model = checkpointed(draft.script).ok_or_else(|| {
        CannotWrite::new("no model with blocks was seen", "Call its blocks through torch.utils.checkpoint.checkpoint.")
    })?;
    if model.batch_norm {
        draft.note("BatchNorm in a recomputed block updates its running statistics twice a step");
    }
    match settings.get("by").and_then(|by| by.as_str()) {
        Some("huggingface") => huggingface(draft, model),
        Some("timm") => made::after_place(draft, model.made_at.as_ref(), |_, name| {
            (format!("{name}.set_grad_checkpointing()"), vec![])
        }),
        _ => {
            let count = settings.get("count").and_then(|c| c.as_u64()).unwrap_or(u64::MAX);
            let class = settings.get("class").and_then(|c| c.as_str()).unwrap_or_default();
            blocks(draft, model, class, count)
        }
    }
}

fn huggingface(draft: &mut Draft<'_>, model: &Model) -> Result<(), CannotWrite> {
    if draft.script.framework == Framework::Trainer {
        let before = draft.arguments();
        frameworks::set(draft, Target::TrainingArguments, "gradient_checkpointing", "True")?;
        let kwargs = "{\"use_reentrant\": False}";
        return match draft.arguments() == before {
            true => frameworks::set(draft, Target::TrainingArguments, "gradient_checkpointing_kwargs", kwargs),
            // An option of the script switches it on: the script knows the rest.
            false => Ok(()),
        };
    }
    if let Some(option) = own_switch(draft)? {
        options::switch(draft, &option.flag);
        return Ok(());
    }
    made::after_place(draft, model.made_at.as_ref(), |_, name| (format!("{name}.{ENABLE}"), Vec::new()))
}

/// `if args.checkpointing: model.gradient_checkpointing_enable()`: the option that switches it on.
fn own_switch(draft: &mut Draft<'_>) -> Result<Option<Declared>, CannotWrite> {
    for path in draft.seen() {
        let found = draft.read(&path, |page| {
            let facts = page.facts;
            facts.calls_named(&["gradient_checkpointing_enable"]).find_map(|call| {
                facts.ancestors_here(call).find_map(|node| match node {
                    Node::Stmt(Stmt::If(branch)) => options::behind(facts, &branch.test).filter(|o| o.is_switch),
                    _ => None,
                })
            })
        })?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn blocks(draft: &mut Draft<'_>, model: &Model, class: &str, count: u64) -> Result<(), CannotWrite> {
    let block = model.blocks.iter().find(|b| b.class == class).or(model.blocks.first());
    let block =
        block.ok_or_else(|| CannotWrite::new("no blocks were seen", "Checkpoint them where they are called."))?;
    let holder = block.container.rsplit('.').next().unwrap_or_default().to_owned();
    let some = (count < block.count).then_some(count);
    // Blocks that stand in several places are not all called by one loop.
    let paths = if block.container.contains(',') { Vec::new() } else { draft.seen() };
    for path in paths {
        let option = draft.read(&path, |page| option_in_forward(page.facts, &holder))?;
        if let Some(option) = option.filter(|_| some.is_none()) {
            options::switch(draft, &option.flag);
            return Ok(());
        }
        if in_forward(draft, &path, &holder, some)? {
            return Ok(());
        }
    }
    let body = "block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)";
    let imports = [("", "functools"), (MODULE, "checkpoint")];
    made::after_model_with_blocks(draft, class, count, body, &imports)
}

/// The loops over `self.blocks` in the `forward` of a class, with the call of the block.
fn loops<'a>(facts: &Facts<'a>, holder: &str) -> Vec<(&'a StmtFor, &'a ExprCall)> {
    let all = facts.tree().all().iter().filter_map(|node| match node {
        Node::Stmt(Stmt::For(stmt)) => Some(stmt),
        _ => None,
    });
    let over = all.filter(|stmt| is_own(facts, facts.turns(&stmt.iter).over, holder));
    over.filter_map(|stmt| Some((stmt, called(facts, stmt)?))).collect()
}

/// `self.blocks` in a method of a module.
fn is_own<'a>(facts: &Facts<'a>, expr: &'a Expr, holder: &str) -> bool {
    let Expr::Attribute(attribute) = expr else { return false };
    attribute.attr.as_str() == holder && facts.in_module(expr) && !facts.grad_disabled(expr)
}

/// The one call of the loop's block in its body.
fn called<'a>(facts: &Facts<'a>, stmt: &'a StmtFor) -> Option<&'a ExprCall> {
    let name = block_name(facts, stmt)?;
    let body = stmt.body.iter().flat_map(|s| facts.inside(s));
    let mut calls = body.filter_map(Node::call).filter(|call| call.func.as_name_expr().is_some_and(|n| n.id == *name));
    let call = calls.next()?;
    calls.next().is_none().then_some(call)
}

fn block_name<'a>(facts: &Facts<'a>, stmt: &'a StmtFor) -> Option<&'a lint::parse::ast::name::Name> {
    let target = match (&*stmt.target, facts.turns(&stmt.iter).counted) {
        (Expr::Tuple(tuple), Some(_)) => tuple.elts.get(1)?,
        (target, None) => target,
        _ => return None,
    };
    target.as_name_expr().map(|name| &name.id)
}

/// `checkpoint(block, x) if args.checkpoint else block(x)`: the option that switches it on.
fn option_in_forward(facts: &Facts<'_>, holder: &str) -> Option<Declared> {
    let (_, call) = *loops(facts, holder).first()?;
    let Some(Node::Expr(Expr::If(branch))) = facts.parent(call) else { return None };
    if !has_checkpoint(facts, branch) {
        return None;
    }
    options::behind(facts, &branch.test).filter(|option| option.is_switch)
}

fn has_checkpoint<'a>(facts: &Facts<'a>, branch: &'a ExprIf) -> bool {
    let calls = facts.inside(branch).filter_map(Node::call);
    calls.into_iter().any(|call| facts.called_name(call) == Some("checkpoint"))
}

/// Checkpoints where `forward` calls the blocks. Says whether it did.
fn in_forward(draft: &mut Draft<'_>, path: &Path, holder: &str, some: Option<u64>) -> Result<bool, CannotWrite> {
    let mut done = false;
    draft.edit(path, |page| {
        let facts = page.facts;
        let edits = match &loops(facts, holder)[..] {
            [(stmt, call)] => in_loop(facts, stmt, call, some),
            [] => sequential(facts, holder, some),
            _ => None,
        };
        done = edits.is_some();
        Ok(edits.unwrap_or_default())
    })?;
    Ok(done)
}

fn in_loop<'a>(facts: &Facts<'a>, stmt: &'a StmtFor, call: &'a ExprCall, some: Option<u64>) -> Option<Vec<Edit>> {
    if facts.ancestors_here(call).any(|n| n.call().is_some_and(|c| facts.called_name(c) == Some("checkpoint"))) {
        return None;
    }
    let (spelling, import) = names::from(facts, MODULE, "checkpoint");
    let through = through(facts, call, &spelling)?;
    let mut edits: Vec<Edit> = import.into_iter().collect();
    let Some(count) = some else {
        edits.push(Edit::replace(call.range(), through));
        return Some(edits);
    };
    let (index, header) = index(facts, stmt)?;
    edits.extend(header);
    let choice = format!("{through} if {index} < {count} else {}", facts.text(call));
    let alone = matches!(facts.parent(call), Some(Node::Stmt(_)));
    edits.push(Edit::replace(call.range(), if alone { choice } else { format!("({choice})") }));
    Some(edits)
}

/// `checkpoint(block, x, mask, use_reentrant=False)` for `block(x, mask)`.
fn through<'a>(facts: &Facts<'a>, call: &'a ExprCall, spelling: &str) -> Option<String> {
    let text = facts.source.text();
    let parts = call.arguments.iter_source_order().map(|argument| &text[argument.range()]);
    let given: Vec<&str> = std::iter::once(facts.text(&*call.func)).chain(parts).collect();
    let plain = !facts.parsed.has_comment(call.range());
    plain.then(|| format!("{spelling}({}, use_reentrant=False)", given.join(", ")))
}

/// The name that counts the blocks, with the edits that make one where there is none.
fn index<'a>(facts: &Facts<'a>, stmt: &'a StmtFor) -> Option<(String, Vec<Edit>)> {
    match facts.turns(&stmt.iter).counted {
        Some(Some(0)) => Some((facts.text(stmt.target.as_tuple_expr()?.elts.first()?).to_owned(), Vec::new())),
        Some(_) => None,
        None => {
            let text = facts.source.text();
            let around = facts.function_of(stmt).map_or(text, |function| &text[function.stmt.range()]);
            let name = ["i", "depth", "number"].into_iter().find(|name| !names::is_word_of(around, name))?;
            let edits = vec![
                Edit::insert(stmt.target.start(), format!("{name}, ")),
                Edit::insert(stmt.iter.start(), "enumerate("),
                Edit::insert(stmt.iter.end(), ")"),
            ];
            Some((name.to_owned(), edits))
        }
    }
}

/// `x = self.blocks(x)`: an `nn.Sequential` becomes a loop over its blocks.
fn sequential(facts: &Facts<'_>, holder: &str, some: Option<u64>) -> Option<Vec<Edit>> {
    let statements = facts.tree().all().iter().filter_map(|node| match node {
        Node::Stmt(stmt @ Stmt::Assign(assign)) => Some((*stmt, assign)),
        _ => None,
    });
    let mut found = statements.filter_map(|(stmt, assign)| {
        let call = assign.value.as_call_expr()?;
        let ([target], [given]) = (&assign.targets[..], &call.arguments.args[..]) else { return None };
        let same =
            target.is_name_expr() && facts.text(target) == facts.text(given) && call.arguments.keywords.is_empty();
        (same && is_own(facts, &call.func, holder)).then(|| (stmt, facts.text(target), facts.text(&*call.func)))
    });
    let (stmt, value, list) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let (spelling, import) = names::from(facts, MODULE, "checkpoint");
    let through = format!("{spelling}(block, {value}, use_reentrant=False)");
    let indent = facts.source.indentation(stmt.start());
    let step = if indent.contains('\t') { "\t" } else { facts.indent_step() };
    let code = match some {
        None => format!("for block in {list}:\n{indent}{step}{value} = {through}"),
        Some(n) => {
            let choice = format!("{through} if i < {n} else block({value})");
            format!("for i, block in enumerate({list}):\n{indent}{step}{value} = {choice}")
        }
    };
    Some(std::iter::once(Edit::replace(stmt.range(), code)).chain(import).collect())
}
