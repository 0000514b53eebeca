//! Cross-entropy in chunks: a small function, and the call that is replaced by it.

use std::path::PathBuf;

use lint::facts::{Facts, Node};
use lint::fix::edit::Edit;
use lint::parse::Ranged;
use lint::parse::ast::ExprCall;

use super::draft::{Page, is_the_users};
use super::{Draft, arguments, made, names};
use crate::cannot::CannotWrite;
use crate::remedies::main_model;

/// The keywords of `F.cross_entropy` that the function passes on.
const PASSED: &[&str] = &["ignore_index", "label_smoothing"];

const NAMES: &[&str] = &["chunked_cross_entropy", "cross_entropy_in_chunks"];
const CAUSAL: &str = "chunked_causal_loss";

/// Whether a call is part of a function that was written here: it sums, and divides by the number of rows itself.
pub fn is_inside<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.ancestors(call).filter_map(Node::stmt).any(|stmt| {
        let name = stmt.as_function_def_stmt().map(|def| def.name.as_str());
        name.is_some_and(|name| NAMES.contains(&name) || name == CAUSAL)
    })
}

pub fn write(draft: &mut Draft<'_>, chunks: u64) -> Result<(), CannotWrite> {
    let place = draft.script.loss.as_ref().and_then(|loss| loss.at.clone());
    match place.filter(|place| is_the_users(place.file.as_ref())) {
        Some(place) => draft.edit(&PathBuf::from(&place.file), |page| {
            let facts = page.facts;
            let own = arguments::call_at(&page, place.line, &["cross_entropy"]);
            let edits = match own {
                Some(call) => own_call(facts, call, chunks),
                None => criterion_at(&page, place.line).and_then(|(call, made)| criterion(facts, call, made, chunks)),
            };
            edits.ok_or_else(by_hand)
        }),
        None if main_model(draft.script).is_some_and(|m| m.huggingface) => in_model(draft, chunks),
        None => Err(by_hand()),
    }
}

fn by_hand() -> CannotWrite {
    CannotWrite::new(
        "the call that computes the loss was not recognised",
        "Compute the cross-entropy over parts of the rows through torch.utils.checkpoint, and divide the sum by their number.",
    )
}

/// `F.cross_entropy(logits, targets)` over rows and classes.
fn own_call<'a>(facts: &Facts<'a>, call: &'a ExprCall, chunks: u64) -> Option<Vec<Edit>> {
    if call.arguments.args.len() != 2 || !passes_on(call) {
        return None;
    }
    let functional = facts.text(&*call.func).to_owned();
    let (name, mut edits) = defined(facts, call, &functional, chunks)?;
    edits.push(Edit::replace(call.func.range(), name));
    Some(edits)
}

fn passes_on(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().all(|k| k.arg.as_ref().is_some_and(|arg| PASSED.contains(&arg.as_str())))
}

/// The call of a `nn.CrossEntropyLoss` on a line, and where that was made.
fn criterion_at<'a>(page: &Page<'_, 'a>, line: u64) -> Option<(&'a ExprCall, &'a ExprCall)> {
    let facts = page.facts;
    let wanted = facts.source.line_of(page.anchors.at(line)?);
    let near = arguments::calls(facts)
        .filter(|call| (facts.source.line_of(call.start())..=facts.source.line_of(call.end())).contains(&wanted));
    let of_criterion = near.filter_map(|call| {
        let made = facts.constructor(&call.func)?;
        facts.calls(made, "torch.nn.CrossEntropyLoss").then_some((call, made))
    });
    of_criterion.min_by_key(|(call, _)| call.range().len())
}

/// `criterion(logits, targets)`: what the criterion was made with goes along.
fn criterion<'a>(facts: &Facts<'a>, call: &'a ExprCall, made: &'a ExprCall, chunks: u64) -> Option<Vec<Edit>> {
    let plain = call.arguments.args.len() == 2 && call.arguments.keywords.is_empty();
    if !plain || !made.arguments.args.is_empty() || !passes_on(made) {
        return None;
    }
    let (functional, import) = match facts.spelling("torch.nn.functional") {
        Some(spelling) => (spelling, None),
        None => ("F".to_owned(), names::import(facts, "import torch.nn.functional as F")),
    };
    let (name, mut edits) = defined(facts, call, &format!("{functional}.cross_entropy"), chunks)?;
    edits.push(Edit::replace(call.func.range(), name));
    let given = made.arguments.keywords.iter().map(|k| &facts.source.text()[k.range()]);
    edits.extend(given.map(|keyword| facts.add_argument(call, keyword)));
    edits.extend(import);
    let place = facts.place_at(&call.func)?;
    let stmt = facts.statement(made);
    if facts.place_uses(place).len() == 1 && call.func.is_name_expr() && stmt.is_assign_stmt() {
        edits.extend(facts.delete_statement(stmt)?);
    }
    Some(edits)
}

/// The function before the definition or statement at the margin that holds the call, and its import.
fn defined<'a>(facts: &Facts<'a>, call: &'a ExprCall, functional: &str, chunks: u64) -> Option<(String, Vec<Edit>)> {
    let name = names::fresh(facts, NAMES);
    let (checkpoint, import) = names::from(facts, "torch.utils.checkpoint", "checkpoint");
    let code = function(&name, functional, &checkpoint, chunks);
    let top = facts.ancestors(call).filter_map(Node::stmt).last()?;
    let put = facts.insert_before(top, &format!("{code}\n\n"))?;
    Some((name, std::iter::once(put).chain(import).collect()))
}

fn function(name: &str, functional: &str, checkpoint: &str, chunks: u64) -> String {
    format!(
        r#"def {name}(logits, targets, chunks={chunks}, ignore_index=-100, label_smoothing=0.0):
    """The mean cross-entropy, a part of the rows at a time: the softmax of all rows never exists as a whole."""
    options = {{"reduction": "sum", "ignore_index": ignore_index, "label_smoothing": label_smoothing}}

    def part(logits, targets):
        return {checkpoint}({functional}, logits, targets, use_reentrant=False, **options)

    total = sum(map(part, logits.chunk(chunks), targets.chunk(chunks)))
    return total / (targets != ignore_index).sum()
"#
    )
}

/// A Hugging Face model computes its loss itself: its loss function is replaced.
fn in_model(draft: &mut Draft<'_>, chunks: u64) -> Result<(), CannotWrite> {
    let is_causal =
        main_model(draft.script).is_some_and(|m| m.class.ends_with("LMHeadModel") || m.class.ends_with("ForCausalLM"));
    if !is_causal {
        return Err(by_hand());
    }
    let place = main_model(draft.script).and_then(|m| m.made_at.clone());
    made::after_place(draft, place.as_ref(), |_, model| (format!("{model}.loss_function = {CAUSAL}"), Vec::new()))?;
    let path = PathBuf::from(place.ok_or_else(by_hand)?.file);
    draft.edit(&path, |page| {
        let facts = page.facts;
        let (functional, first) = match facts.spelling("torch.nn.functional") {
            Some(spelling) => (spelling, None),
            None => ("F".to_owned(), names::import(facts, "import torch.nn.functional as F")),
        };
        let (checkpoint, second) = names::from(facts, "torch.utils.checkpoint", "checkpoint");
        let code = causal(&functional, &checkpoint, chunks);
        let put = names::behind_imports(facts, &format!("\n{code}\n")).ok_or_else(by_hand)?;
        Ok(first.into_iter().chain(second).chain([put]).collect())
    })
}

fn causal(functional: &str, checkpoint: &str, chunks: u64) -> String {
    format!(
        r#"def {CAUSAL}(logits, labels, vocab_size, num_items_in_batch=None, ignore_index=-100, **kwargs):
    """The loss of the next token, a part of the rows at a time: the softmax of all rows never exists as a whole."""

    def cross_entropy(logits, labels):
        return {functional}.cross_entropy(logits.float(), labels, reduction="sum", ignore_index=ignore_index)

    def part(logits, labels):
        return {checkpoint}(cross_entropy, logits, labels, use_reentrant=False)

    labels = {functional}.pad(labels, (0, 1), value=ignore_index)[..., 1:].reshape(-1).to(logits.device)
    total = sum(map(part, logits.view(-1, vocab_size).chunk({chunks}), labels.chunk({chunks})))
    return total / ((labels != ignore_index).sum() if num_items_in_batch is None else num_items_in_batch)
"#
    )
}
