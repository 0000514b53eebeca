//! Smaller micro-batches whose gradients are added up before a step: the effective batch stays what it was.
//!
//! It applies where the size of the batch can be reached: a DataLoader, an argument of the framework, an option of the command
//! line, or a `{batch:64}` that the user marks in the command. The loss is divided by the number of micro-batches, so that the
//! sum of gradients is the gradient of the mean. BatchNorm computes its statistics over a micro-batch, which is not the same.
//! Activations shrink in proportion; small kernels use the card less well.
//!
//! With several models that are trained in turn (a GAN) gradients of one reach into the others, and adding them up would not
//! be the same training: there the batch itself becomes smaller, and the settings say so.

use serde_json::json;

use super::{divisors, settings};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Argument, Framework, Role, Script};
use crate::write::{Draft, accumulation};

pub struct MicroBatch;

const NO_KNOB: &str = "no way to change the batch size was found: looked for a DataLoader with a batch_size, Trainer, \
Lightning, and options named like a batch size. Mark it in the command, as in `train.py --rows {batch:64}`";

/// How the size of the batch can be changed.
struct Knob {
    batch: u64,
    /// Further settings: `by`, and what that way needs.
    how: Settings,
}

fn knob(script: &Script) -> Option<Knob> {
    placeholder(script)
        .or_else(|| both_options(script))
        .or_else(|| framework(script))
        .or_else(|| loader(script))
        .or_else(|| option(script))
}

fn placeholder(script: &Script) -> Option<Knob> {
    let marked = script.placeholders.iter().find(|p| p.name == "batch")?;
    let how = settings([("by", json!("placeholder")), ("placeholder", json!("batch"))]);
    Some(Knob { batch: marked.value, how })
}

fn with_role(script: &Script, role: Role) -> Option<&Argument> {
    let mut all = script.arguments.iter().filter(|a| a.role == Some(role) && a.value > 0);
    // An option for training before one for evaluation.
    let is_for_evaluation = |a: &&Argument| ["eval", "val", "test"].iter().any(|word| a.name.contains(word));
    all.clone().find(|a| !is_for_evaluation(a)).or_else(|| all.next())
}

/// The script accumulates by itself: only the command line changes.
fn both_options(script: &Script) -> Option<Knob> {
    let batch = with_role(script, Role::Batch)?;
    let accumulate = with_role(script, Role::Accumulate)?;
    let how = settings([
        ("by", json!("flags")),
        ("flag", json!(batch.flag)),
        ("accumulate_flag", json!(accumulate.flag)),
        ("accumulated", json!(accumulate.value)),
    ]);
    Some(Knob { batch: batch.value as u64, how })
}

fn framework(script: &Script) -> Option<Knob> {
    if matches!(script.framework, Framework::Plain | Framework::Accelerate) {
        return None;
    }
    let batch = trained_loader_batch(script).or(script.batch.rows)?;
    Some(Knob { batch, how: settings([("by", json!("framework"))]) })
}

fn trained_loader_batch(script: &Script) -> Option<u64> {
    script.loaders.iter().find(|l| l.training && l.batch_size.is_some()).and_then(|l| l.batch_size)
}

fn loader(script: &Script) -> Option<Knob> {
    Some(Knob { batch: trained_loader_batch(script)?, how: settings([("by", json!("loader"))]) })
}

fn option(script: &Script) -> Option<Knob> {
    let batch = with_role(script, Role::Batch)?;
    let how = settings([("by", json!("argument")), ("flag", json!(batch.flag))]);
    Some(Knob { batch: batch.value as u64, how })
}

/// Several models, each with its own optimizer: they are trained in turn.
fn trains_in_turn(script: &Script) -> bool {
    script.framework == Framework::Plain && script.models.len() > 1 && script.optimizers.len() > 1
}

impl Remedy for MicroBatch {
    fn about(&self) -> &'static About {
        &About {
            id: "micro-batch",
            title: "Split each batch and add up the gradients",
            mathematics: Mathematics::Same,
            effort: Effort::Several,
            cost: "Frees activations in proportion to the parts; small kernels use the card less well.",
            conflicts: &["step-in-backward"],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let knob = knob(script).ok_or(NO_KNOB)?;
        let in_turn = trains_in_turn(script);
        let dial: Vec<Settings> = divisors(knob.batch)
            .map(|(parts, rows)| {
                let sizes = [("parts", json!(parts)), ("batch", json!(knob.batch)), ("rows", json!(rows))];
                let mut all = settings(sizes);
                all.extend(knob.how.clone());
                if in_turn {
                    all.extend(settings([("accumulate", json!(false)), ("mathematics", json!("different"))]));
                }
                all
            })
            .collect();
        match dial.is_empty() {
            true => Err("the batch is a single row already".to_owned()),
            false => Ok(Offer::Dial(dial)),
        }
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        accumulation::write(settings, draft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Batch, Loader, Placeholder};

    fn argument(flag: &str, value: i64, role: Role) -> Argument {
        let name = flag.trim_start_matches('-').replace('-', "_");
        Argument { flag: flag.to_owned(), name, value, role: Some(role), given: false }
    }

    fn by(script: &Script) -> String {
        match MicroBatch.offer(script) {
            Ok(Offer::Dial(dial)) => dial[0]["by"].as_str().expect("text").to_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_knob_that_changes_least_is_taken() {
        let mut script = Script { batch: Batch { rows: Some(8) }, ..Script::default() };
        assert!(MicroBatch.offer(&script).is_err_and(|why| why.contains("{batch:64}") && why.contains("DataLoader")));
        script.arguments.push(argument("--batch-size", 8, Role::Batch));
        assert_eq!(by(&script), "argument");
        script.loaders.push(Loader { batch_size: Some(8), training: true, ..Loader::default() });
        assert_eq!(by(&script), "loader");
        script.arguments.push(argument("--accum", 2, Role::Accumulate));
        assert_eq!(by(&script), "flags");
        script.placeholders.push(Placeholder { name: "batch".to_owned(), value: 8, ..Placeholder::default() });
        assert_eq!(by(&script), "placeholder");
    }

    #[test]
    fn the_dial_goes_down_to_single_rows() {
        let mut script = Script::default();
        script.arguments.push(argument("--bs", 12, Role::Batch));
        let Ok(Offer::Dial(dial)) = MicroBatch.offer(&script) else { panic!("no dial") };
        let rows: Vec<u64> = dial.iter().filter_map(|s| s["rows"].as_u64()).collect();
        assert_eq!(rows, [6, 4, 3, 2, 1]);
        script.arguments[0].value = 1;
        assert_eq!(MicroBatch.offer(&script), Err("the batch is a single row already".to_owned()));
    }

    #[test]
    fn models_trained_in_turn_get_a_smaller_batch_and_are_told() {
        let mut script = Script::default();
        script.arguments.push(argument("--bs", 4, Role::Batch));
        script.models = vec![Default::default(), Default::default()];
        script.optimizers = vec![Default::default(), Default::default()];
        let Ok(Offer::Dial(dial)) = MicroBatch.offer(&script) else { panic!("no dial") };
        assert_eq!((&dial[0]["accumulate"], &dial[0]["mathematics"]), (&json!(false), &json!("different")));
    }
}
