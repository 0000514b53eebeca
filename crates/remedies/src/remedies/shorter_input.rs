//! Shorter sequences or smaller images.
//!
//! It applies where the length or size is an option of the command line, or is marked in it (`{seq:1024}`). It changes the
//! task, not only the training: the very last word.

use serde_json::json;

use super::settings;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Role, Script};
use crate::write::{Draft, options};

pub struct ShorterInput;

/// Lengths and sizes stay multiples of this, as kernels and patches like them.
const GRAIN: u64 = 32;

fn smaller(value: u64) -> Vec<u64> {
    let mut values: Vec<u64> =
        [3, 2, 1].iter().map(|quarters| value * quarters / 4 / GRAIN * GRAIN).filter(|v| *v > 0).collect();
    values.retain(|v| *v < value);
    values.dedup();
    values
}

impl Remedy for ShorterInput {
    fn about(&self) -> &'static About {
        &About {
            id: "shorter-input",
            title: "Train on shorter sequences or smaller images",
            mathematics: Mathematics::Different,
            effort: Effort::Setting,
            cost: "Frees activations in proportion or more; faster, and another task.",
            conflicts: &[],
            last_word: true,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let marked = script.placeholders.iter().find(|p| p.name != "batch");
        let option = script.arguments.iter().find(|a| matches!(a.role, Some(Role::Sequence | Role::Image)));
        let (key, name, value) = match (marked, option) {
            (Some(marked), _) => ("placeholder", &marked.name, marked.value),
            (None, Some(option)) => ("flag", &option.flag, option.value.max(0) as u64),
            _ => {
                let why = "no option for a length or an image size was found; mark it in the command, as in `{seq:1024}`";
                return Err(why.to_owned());
            }
        };
        let dial: Vec<Settings> =
            smaller(value).into_iter().map(|v| settings([(key, json!(name)), ("value", json!(v))])).collect();
        match dial.is_empty() {
            true => Err(format!("{name} is {value}, which is small already")),
            false => Ok(Offer::Dial(dial)),
        }
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        let value = settings.get("value").and_then(|v| v.as_u64()).unwrap_or(0).to_string();
        match settings.get("flag").and_then(|f| f.as_str()) {
            Some(flag) => options::set(draft, flag, &value),
            None => {
                let name = settings.get("placeholder").and_then(|p| p.as_str()).unwrap_or_default();
                options::fill(draft, name, &value);
            }
        }
        draft.note("the input is another one: results are not comparable with those before");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_shrink_by_quarters_in_whole_grains() {
        assert_eq!(smaller(1024), [768, 512, 256]);
        assert_eq!(smaller(224), [160, 96, 32]);
        assert_eq!(smaller(32), Vec::<u64>::new());
    }
}
