//! Attention written out by hand: scores, mask, softmax, dropout, values. Found only when nothing else sees its parts, and
//! rewritten as one call of `F.scaled_dot_product_attention`.

use lint::facts::Facts;
use lint::fix::edit::Edit;
use lint::parse::{Expr, Ranged, Stmt, TextRange, TextSize};

use super::scores::{self, Mask};
use crate::cannot::CannotWrite;
use crate::write::{Draft, arguments, names, step};

/// One attention: where it ends, and what it is made of.
struct Attention<'a> {
    /// `weights @ v`
    product: &'a Expr,
    /// `scores = …`, `weights = …`: the statements that only lead to the product.
    steps: Vec<&'a Stmt>,
    values: &'a Expr,
    /// The probability of dropout, in code.
    dropout: Option<String>,
    scores: scores::Scores<'a>,
}

/// The lines (from 1) where attention that stores its scores is written out.
pub fn lines(facts: &Facts<'_>) -> Vec<u64> {
    found(facts).iter().map(|attention| facts.source.line_of(attention.product.start()) as u64 + 1).collect()
}

/// Rewrites every attention that is recognised in the user's files.
pub fn rewrite(draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
    let mut written = false;
    for path in draft.seen() {
        draft.edit(&path, |page| {
            let all = found(page.facts);
            let edits: Option<Vec<Vec<Edit>>> = all.iter().map(|attention| attention.edits(page.facts)).collect();
            let edits: Vec<Edit> = edits.ok_or_else(not_certain)?.concat();
            written |= !all.is_empty();
            let import = imported(page.facts).1.filter(|_| !all.is_empty());
            Ok(edits.into_iter().chain(import).collect())
        })?;
        if written {
            draft.edit(&path, |page| Ok(unused_math(page.facts)))?;
        }
    }
    if written { Ok(()) } else { Err(not_certain()) }
}

/// `import math` goes when only the scale of the scores needed it.
fn unused_math(facts: &Facts<'_>) -> Vec<Edit> {
    let is_import = |stmt: &&Stmt| &facts.source.text()[stmt.range()] == "import math";
    let Some(import) = facts.parsed.body().iter().find(is_import) else { return Vec::new() };
    let mut names = facts.tree().all().iter().filter_map(|node| node.expr()?.as_name_expr());
    if names.any(|name| name.id == "math") {
        return Vec::new();
    }
    let mut edits = facts.delete_statement(import).unwrap_or_default();
    let text = facts.source.text();
    for edit in &mut edits {
        // It stood alone between two empty lines: one of them goes too.
        let (start, end) = (usize::from(edit.range.start()), usize::from(edit.range.end()));
        if (start == 0 || text[..start].ends_with("\n\n")) && text[end..].starts_with('\n') {
            edit.range = TextRange::new(edit.range.start(), edit.range.end() + TextSize::of('\n'));
        }
    }
    edits
}

fn not_certain() -> CannotWrite {
    CannotWrite::new(
        "the attention in your code was not recognised with certainty",
        "Compute it with `F.scaled_dot_product_attention(q, k, v, …)`.",
    )
}

fn imported(facts: &Facts<'_>) -> (String, Option<Edit>) {
    match facts.spelling("torch.nn.functional") {
        Some(spelling) => (spelling, None),
        None => ("F".to_owned(), names::import(facts, "import torch.nn.functional as F")),
    }
}

fn found<'a>(facts: &Facts<'a>) -> Vec<Attention<'a>> {
    let expressions = facts.tree().all().iter().filter_map(|node| node.expr());
    expressions.filter_map(|product| attention(facts, product)).collect()
}

fn attention<'a>(facts: &Facts<'a>, product: &'a Expr) -> Option<Attention<'a>> {
    let (weights, values) = scores::product(facts, product)?;
    let mut steps = Vec::new();
    let weights = peeled(facts, weights, &mut steps)?;
    let (weights, dropout) = match dropped(facts, weights) {
        Some((inner, probability)) => (peeled(facts, inner, &mut steps)?, Some(probability)),
        None => (weights, None),
    };
    let softmaxed = peeled(facts, softmaxed(facts, weights)?, &mut steps)?;
    let scores = scores::scores(facts, softmaxed, &mut steps)?;
    let attention = Attention { product, steps, values, dropout, scores };
    attention.is_undisturbed(facts).then_some(attention)
}

/// What a name was set to, when that is all the name is for. Notes the statement that sets it.
pub fn peeled<'a>(facts: &Facts<'a>, expr: &'a Expr, steps: &mut Vec<&'a Stmt>) -> Option<&'a Expr> {
    if !expr.is_name_expr() {
        return Some(expr);
    }
    let [def] = facts.defs(expr)[..] else { return None };
    let stmt = facts.statement(&facts.def_node(def));
    let assign = stmt.as_assign_stmt()?;
    let single = assign.targets.len() == 1 && assign.targets[0].is_name_expr() && facts.uses(def).len() == 1;
    if !single || steps.len() > 8 {
        return None;
    }
    steps.push(stmt);
    peeled(facts, &assign.value, steps)
}

/// `softmax` over the last dimension: what it is of.
fn softmaxed<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Option<&'a Expr> {
    let call = expr.as_call_expr()?;
    match facts.callee(call) {
        Some("torch.nn.functional.softmax" | "torch.softmax") => {
            last_dimension(call.arguments.find_argument_value("dim", 1)?).then(|| call.arguments.args.first())?
        }
        Some(_) => None,
        None => match facts.method(call)? {
            (owner, "softmax") => last_dimension(call.arguments.find_argument_value("dim", 0)?).then_some(owner),
            // A cast back to the type of the values.
            (owner, "to" | "type_as") => softmaxed(facts, owner),
            _ => None,
        },
    }
}

fn last_dimension(dimension: &Expr) -> bool {
    match dimension {
        Expr::UnaryOp(op) => lint::facts::literal_number(&op.operand) == Some(1),
        _ => false,
    }
}

/// Dropout of the weights: what it is of, and its probability in code.
fn dropped<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Option<(&'a Expr, String)> {
    let call = expr.as_call_expr()?;
    if facts.callee(call) == Some("torch.nn.functional.dropout") {
        let probability = facts.text(call.arguments.find_argument_value("p", 1)?);
        let training = facts.text(call.arguments.find_argument_value("training", 2)?);
        return Some((call.arguments.args.first()?, format!("{probability} if {training} else 0.0")));
    }
    let layer = &*call.func;
    let made = facts.constructor(layer)?;
    let owner = layer.as_attribute_expr().map(|attribute| facts.text(&*attribute.value))?;
    (facts.callee(made) == Some("torch.nn.Dropout") && owner == "self")
        .then(|| Some((call.arguments.args.first()?, format!("{}.p if self.training else 0.0", facts.text(layer)))))?
}

impl<'a> Attention<'a> {
    /// The statements lie in one block in a function, and none between them changes queries or keys.
    fn is_undisturbed(&self, facts: &Facts<'a>) -> bool {
        let last = facts.statement(self.product);
        let (block, end) = facts.siblings(last);
        let places: Option<Vec<usize>> =
            self.steps.iter().map(|step| block.iter().position(|s| std::ptr::eq(s, *step))).collect();
        let Some(first) = places.map(|all| all.into_iter().min().unwrap_or(end)) else { return false };
        let between = block[first..end].iter().filter(|s| !self.steps.iter().any(|step| std::ptr::eq(*step, *s)));
        let used: Vec<&str> = self.scores.names(facts);
        let sets = |stmt: &Stmt| match stmt {
            Stmt::Assign(assign) => assign.targets.iter().any(|t| used.contains(&&facts.source.text()[t.range()])),
            _ => true,
        };
        facts.function_of(last).is_some() && !between.into_iter().any(sets)
    }

    fn edits(&self, facts: &Facts<'a>) -> Option<Vec<Edit>> {
        let last = facts.statement(self.product);
        let indent = facts.source.indentation(last.start());
        let alone = match last {
            Stmt::Assign(assign) => std::ptr::eq(&*assign.value, self.product),
            Stmt::Return(ret) => ret.value.as_deref().is_some_and(|value| std::ptr::eq(value, self.product)),
            _ => false,
        };
        let mut edits = match alone {
            true => {
                let before = usize::from(
                    self.product.start() - facts.source.line_range(facts.source.line_of(last.start())).start(),
                );
                vec![Edit::replace(self.product.range(), self.call(facts, indent, before))]
            }
            false => {
                let name = names::fresh(facts, &["attended", "context", "attention_output"]);
                let code = format!("{name} = {}", self.call(facts, "", indent.len() + name.len() + 3));
                let around = step::brackets(facts.source.text(), self.product.range(), last.range());
                vec![facts.insert_before(last, &code)?, Edit::replace(around, name)]
            }
        };
        for step in &self.steps {
            edits.extend(facts.delete_statement(step)?);
        }
        Some(edits)
    }

    /// The call, broken over lines where it would go too far right; `before` is what stands left of it.
    fn call(&self, facts: &Facts<'a>, indent: &str, before: usize) -> String {
        let text = |expr: &'a Expr| facts.text(expr).to_owned();
        let mut given = vec![text(self.scores.queries), text(self.scores.keys), text(self.values)];
        match &self.scores.mask {
            Some(Mask::Causal) => given.push("is_causal=True".to_owned()),
            Some(Mask::Kept(mask)) => given.push(format!("attn_mask={mask}")),
            None => {}
        }
        given.extend(self.dropout.iter().map(|probability| format!("dropout_p={probability}")));
        given.extend(self.scores.scale.iter().map(|scale| format!("scale={scale}")));
        let name = format!("{}.scaled_dot_product_attention", imported(facts).0);
        let flat = format!("{name}({})", given.join(", "));
        match before + flat.len() <= arguments::WIDEST {
            true => flat,
            false => format!("{name}(\n{indent}{}{}\n{indent})", facts.indent_step(), given.join(", ")),
        }
    }
}
