//! ## What it finds
//!
//! A loader for evaluation whose batches are more than four times as large as those for training.
//!
//! ## Why
//!
//! It is a common cause of running out of memory only in validation. Without gradients a batch twice as large is usual; where the
//! loop over the loader switches gradients off, nothing is reported.
//!
//! ## Bad
//!
//! ```python
//! train_loader = DataLoader(train_set, batch_size=16)
//! val_loader = DataLoader(val_set, batch_size=256)
//! ```
//!
//! ## Good
//!
//! ```python
//! train_loader = DataLoader(train_set, batch_size=16)
//! val_loader = DataLoader(val_set, batch_size=32)
//! ```
//!
//! ## Fix
//!
//! None: how large a batch fits has to be tried.
//!
//! ## References
//!
//! - catalyst-team/catalyst#143

use crate::facts::{Facts, Loop, Node, literal_number};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "E07",
    name: "eval-batch-larger",
    severity: Severity::Note,
    wants: &[
        Want::Call("torch.utils.data.DataLoader"),
        Want::Named("TrainingArguments"),
        Want::Named("Seq2SeqTrainingArguments"),
    ],
    check,
    ..Rule::DEFAULT
};

/// Up to this many times the training batch is usual without gradients.
const USUAL: u64 = 4;
/// The trainer always evaluates without gradients.
const USUAL_OF_TRAINER: u64 = 8;

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    if !facts.calls(call, "torch.utils.data.DataLoader") {
        return check_arguments(facts, call, sink);
    }
    let Some((target, size)) = loader(facts, call).filter(|(target, _)| facts.says_evaluation(target)) else { return };
    let function = facts.function_id(call);
    let others = facts.tree().all().iter().copied().filter_map(Node::call);
    let mut train = others
        .filter(|c| facts.calls(c, "torch.utils.data.DataLoader") && facts.function_id(*c) == function)
        .filter_map(|c| loader(facts, c))
        .filter(|(name, _)| facts.text(*name).to_ascii_lowercase().contains("train"))
        .peekable();
    // A notebook makes its loaders again and again: the last one before counts.
    let first = train.peek().copied();
    let Some((_, trained)) = train.take_while(|(name, _)| facts.before(*name, target)).last().or(first) else { return };
    if size > USUAL * trained && trained > 1 && !is_without_grad(facts, target) && !facts.in_test(call) {
        sink.report(
            call,
            format!("evaluation batches of {size} beside training batches of {trained}: the peak may be in validation"),
        );
    }
}

/// `TrainingArguments(per_device_train_batch_size=4, per_device_eval_batch_size=64)`
fn check_arguments<'a>(facts: &Facts<'a>, call: &'a ExprCall, sink: &mut Sink<'_>) {
    let size = |name: &str| {
        let value = &call.arguments.find_keyword(name)?.value;
        literal_number(facts.resolve(value))
    };
    let (Some(trained), Some(evaluated)) = (size("per_device_train_batch_size"), size("per_device_eval_batch_size"))
    else {
        return;
    };
    if evaluated > USUAL_OF_TRAINER * trained && !facts.in_test(call) {
        let message = format!(
            "evaluation batches of {evaluated} beside training batches of {trained}: the peak may be in evaluation"
        );
        sink.report(call, message);
    }
}

/// The name that a loader is bound to, and its batch size when it is a literal.
fn loader<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<(&'a Expr, u64)> {
    let Stmt::Assign(assign) = facts.statement(call) else { return None };
    let [target] = &assign.targets[..] else { return None };
    let size = call.arguments.find_argument_value("batch_size", 1)?;
    Some((target, literal_number(facts.resolve(size))?))
}

/// A loop over the loader, or over whatever it is passed on to, runs without gradients.
fn is_without_grad<'a>(facts: &Facts<'a>, target: &'a Expr) -> bool {
    let Some(def) = facts.defined_by(target) else { return false };
    let uses = facts.uses(def);
    let direct = uses.iter().any(|used| {
        facts.ancestors_here(*used).filter_map(Loop::of).any(|l| {
            facts.grad_disabled(&l)
                || facts
                    .inside_here(&l)
                    .any(|n| n.call().is_some_and(|c| facts.model_run_by(c).is_some() && facts.grad_disabled(c)))
        })
    });
    // Handed to somebody else: a trainer, a function.
    let passed = uses.iter().any(|used| {
        matches!(facts.parent(*used), Some(Node::Expr(Expr::Call(_) | Expr::Tuple(_))))
            && facts.loop_of(*used).is_none()
    });
    direct || passed
}
