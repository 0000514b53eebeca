//! Smaller micro-batches and accumulated gradients, by the way in which the size of the batch can be reached.

mod inner;
mod looped;
mod steps;

use std::path::PathBuf;

use lint::parse::Ranged;

use super::frameworks::{self, Target};
use super::{Draft, arguments, options};
use crate::cannot::CannotWrite;
use crate::remedies::main_model;
use crate::remedy::Settings;
use crate::script::{Framework, Loader};

/// How a batch is split.
#[derive(Debug, Clone, Copy)]
pub struct Split {
    pub parts: u64,
    pub batch: u64,
    pub rows: u64,
}

impl Split {
    /// `accumulate = 4  # micro-batches of 16: the effective batch stays 64`
    fn definition(self, name: &str) -> String {
        let Split { parts, batch, rows } = self;
        let size = if rows == 1 { "single rows".to_owned() } else { rows.to_string() };
        format!("{name} = {parts}  # micro-batches of {size}: the effective batch stays {batch}")
    }
}

pub fn write(settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
    let number = |key: &str| settings.get(key).and_then(|v| v.as_u64());
    let text = |key: &str| settings.get(key).and_then(|v| v.as_str()).unwrap_or_default();
    let parts = number("parts").unwrap_or(1);
    let split = Split { parts, batch: number("batch").unwrap_or(0), rows: number("rows").unwrap_or(0) };
    let accumulates = settings.get("accumulate").and_then(|v| v.as_bool()).unwrap_or(true);
    warn(draft, split, accumulates);
    match text("by") {
        "flags" => {
            options::set(draft, text("flag"), &split.rows.to_string());
            let accumulated = number("accumulated").unwrap_or(1) * parts;
            options::set(draft, text("accumulate_flag"), &accumulated.to_string());
            Ok(())
        }
        "placeholder" | "argument" if !accumulates => {
            set_in_command(draft, settings, split);
            Ok(())
        }
        "placeholder" => {
            set_in_command(draft, settings, split);
            inner::write(draft, split, None).map(|_| ())
        }
        "argument" => {
            if inner::write(draft, split, Some(text("flag")))? == inner::Size::InCommand {
                set_in_command(draft, settings, split);
            }
            Ok(())
        }
        "framework" => in_framework(draft, split),
        _ if !accumulates => smaller_loader(draft, split),
        _ if draft.script.framework == Framework::Accelerate => with_accelerate(draft, split),
        _ => looped::write(draft, split),
    }
}

fn set_in_command(draft: &mut Draft<'_>, settings: &Settings, split: Split) {
    let text = |key: &str| settings.get(key).and_then(|v| v.as_str());
    match text("flag") {
        Some(flag) => options::set(draft, flag, &split.rows.to_string()),
        None => options::fill(draft, text("placeholder").unwrap_or("batch"), &split.rows.to_string()),
    }
}

fn warn(draft: &mut Draft<'_>, split: Split, accumulates: bool) {
    if main_model(draft.script).is_some_and(|model| model.batch_norm) {
        let size = split.rows;
        draft.note(format!(
            "BatchNorm computes its statistics over micro-batches of {size}, not over {} rows",
            split.batch
        ));
    }
    if !accumulates {
        draft.note(format!(
            "the models are trained in turn, so gradients cannot be added up: the batch becomes {} rows, which is another training",
            split.rows
        ));
    }
    let uneven =
        training_loader(draft).and_then(|l| l.items.map(|items| !l.drop_last && !items.is_multiple_of(split.batch)));
    if accumulates && uneven == Some(true) {
        draft.note("the last, smaller batch of an epoch counts by its share of a whole batch");
    }
}

/// The loader that feeds training.
fn training_loader<'s>(draft: &Draft<'s>) -> Option<&'s Loader> {
    let training = draft.script.loaders.iter().filter(|loader| loader.training);
    training.clone().find(|loader| loader.batch_size.is_some()).or_else(|| training.clone().next())
}

fn in_framework(draft: &mut Draft<'_>, split: Split) -> Result<(), CannotWrite> {
    if draft.script.framework == Framework::Lightning {
        let before = frameworks::number(draft, Target::LightningTrainer, "accumulate_grad_batches").unwrap_or(1);
        smaller_loader(draft, split)?;
        let parts = (before * split.parts).to_string();
        return frameworks::set(draft, Target::LightningTrainer, "accumulate_grad_batches", &parts);
    }
    let before = frameworks::number(draft, Target::TrainingArguments, "gradient_accumulation_steps").unwrap_or(1);
    let (rows, parts) = (split.rows.to_string(), (before * split.parts).to_string());
    frameworks::set(draft, Target::TrainingArguments, "per_device_train_batch_size", &rows)?;
    frameworks::set(draft, Target::TrainingArguments, "gradient_accumulation_steps", &parts)
}

/// The loader's batch becomes that of a micro-batch: a number where a number stood, else a division.
fn smaller_loader(draft: &mut Draft<'_>, split: Split) -> Result<(), CannotWrite> {
    let place = training_loader(draft).and_then(|loader| loader.made_at.clone());
    let hand = || {
        CannotWrite::new(
            "where the DataLoader for training is made was not recognised",
            format!("Give it `batch_size={}`.", split.rows),
        )
    };
    let place = place.ok_or_else(hand)?;
    draft.edit(&PathBuf::from(&place.file), |page| {
        let call = arguments::call_at(&page, place.line, &["DataLoader"]).ok_or_else(hand)?;
        let size = call.arguments.find_argument_value("batch_size", 1).ok_or_else(hand)?;
        let text = match size.is_number_literal_expr() {
            true => split.rows.to_string(),
            false => format!("{} // {}", steps::operand(page.facts, size), split.parts),
        };
        Ok(vec![lint::fix::edit::Edit::replace(size.range(), text)])
    })
}

/// accelerate counts micro-batches itself: `gradient_accumulation_steps`, and `with accelerator.accumulate(model):`.
fn with_accelerate(draft: &mut Draft<'_>, split: Split) -> Result<(), CannotWrite> {
    let before = frameworks::number(draft, Target::Accelerator, "gradient_accumulation_steps").unwrap_or(1);
    smaller_loader(draft, split)?;
    steps::accumulate_with_accelerator(draft)?;
    let parts = (before * split.parts).to_string();
    frameworks::set(draft, Target::Accelerator, "gradient_accumulation_steps", &parts)
}
