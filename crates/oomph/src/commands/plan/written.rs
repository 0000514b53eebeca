//! From what the search found to an answer: each plan is written as a patch, and the patched script is run under the limit.

use std::time::Instant;

use plan::{Found, Outcome, Plan};
use remedies::{Choice, Mathematics, Script};
use report::planned::{self, Planned};

use super::bench::WarmBench;
use super::command::Command;
use super::{Answer, from_here, gpu, peak};
use crate::error::Error;
use crate::mistakes;

const BASIS: &str = "roofline over the operations of one step, relative to the script as it is";

pub fn answer(
    bench: &mut WarmBench<'_>,
    found: Found,
    script: Script,
    margin_percent: f64,
    started: Instant,
) -> Result<Answer, Error> {
    let chosen: Vec<Vec<Choice>> = found.plans.iter().map(|plan| plan.choices.clone()).collect();
    let (mut plans, patches): (Vec<planned::Plan>, Vec<Option<remedies::Patch>>) =
        found.plans.iter().map(|plan| written(bench.command, plan, &script)).unzip();
    verify(bench, &mut plans, &patches)?;
    let as_is = found.as_is.peak.device_bytes;
    let planned = Planned {
        gpu: gpu(&bench.card),
        limit_bytes: bench.limited.memory_bytes,
        margin_percent,
        as_is: planned::AsIs {
            peak: peak(found.as_is.peak),
            fits: found.as_is_fits,
            step_seconds: found.as_is.step_seconds,
        },
        plans,
        effects: found.effects.iter().map(|effect| of_effect(effect, as_is)).collect(),
        rejected: found
            .rejected
            .into_iter()
            .map(|one| planned::Rejected { remedy: one.remedy, why: one.why })
            .collect(),
        infeasible: found.infeasible.map(|none| infeasible(&none)),
        largest_batch: None,
        time_basis: format!("{BASIS}, on {}", bench.card.name),
        warnings: warnings(&script),
        mistakes: mistakes::at(blamed(&script)),
        tries: bench.tries,
        seconds: started.elapsed().as_secs_f64(),
        import_seconds: bench.warm.import_seconds,
    };
    Ok(Answer { planned, patches, choices: chosen, script })
}

/// The plan with its patch, not run yet.
fn written(command: &Command, plan: &Plan, script: &Script) -> (planned::Plan, Option<remedies::Patch>) {
    let mut told = planned::Plan {
        remedies: plan.choices.iter().map(remedy).collect(),
        peak: peak(plan.ran.peak),
        fits: true,
        slowdown: plan.slowdown.map(|factor| planned::Slowdown { factor, basis: BASIS.into() }),
        same_math: plan.mathematics == Mathematics::Same,
        mathematics: words(plan.mathematics).into(),
        diff: None,
        environment: Vec::new(),
        command: None,
        notes: Vec::new(),
        verified: false,
    };
    if plan.ran.retries > 0 {
        told.notes.push(format!(
            "PyTorch gives its cache back {} times to stay under the limit, which takes time that the estimate leaves out",
            plan.ran.retries
        ));
    }
    match remedies::write(&plan.choices, script, command) {
        Ok(patch) => {
            told.diff = Some(patch.diff(from_here));
            told.environment.clone_from(&patch.environment);
            told.command = patch.command.as_ref().map(|arguments| shown(&command.with(arguments)));
            told.notes.extend(patch.notes.iter().cloned());
            (told, Some(patch))
        }
        Err(cannot) => {
            told.notes.push(format!("{} could not be written into the code: {cannot}", cannot.remedy));
            told.notes.push(cannot.instruction);
            (told, None)
        }
    }
}

/// Runs the patched scripts under the limit: from here on a plan's numbers are those of its patch.
fn verify(
    bench: &mut WarmBench<'_>,
    plans: &mut [planned::Plan],
    patches: &[Option<remedies::Patch>],
) -> Result<(), Error> {
    let numbered: Vec<(usize, &remedies::Patch)> =
        patches.iter().enumerate().filter_map(|(place, patch)| Some((place, patch.as_ref()?))).collect();
    if numbered.is_empty() {
        return Ok(());
    }
    bench.progress.say("running the patched scripts");
    for (&(place, _), tried) in numbered.iter().zip(bench.verify(&numbered)?) {
        let plan = &mut plans[place];
        match tried.outcome {
            Outcome::Ran(ran) => {
                plan.peak = peak(ran.peak);
                plan.verified = true;
            }
            Outcome::OutOfMemory => {
                plan.notes.insert(0, "the patched script runs out of memory; the injected remedy did not".into());
            }
            Outcome::Failed(why) | Outcome::Refused { why, .. } => {
                plan.notes.insert(0, format!("the patched script failed on the ghost: {why}"));
            }
        }
    }
    Ok(())
}

fn of_effect(effect: &plan::Effect, as_is: u64) -> planned::Effect {
    planned::Effect {
        remedy: remedy(&effect.choice),
        peak: peak(effect.peak),
        frees_bytes: as_is as i64 - effect.peak.device_bytes as i64,
        slowdown: effect.slowdown,
    }
}

fn remedy(choice: &Choice) -> planned::Remedy {
    planned::Remedy {
        id: choice.id().into(),
        settings: choice.settings.clone(),
        title: choice.remedy.about().title.into(),
    }
}

fn infeasible(none: &plan::Infeasible) -> planned::Infeasible {
    let mut cards: Vec<&gpus::Card> =
        gpus::all().iter().filter(|card| card.memory_bytes >= none.smallest_bytes).collect();
    cards.sort_by_key(|card| card.memory_bytes);
    planned::Infeasible {
        smallest_memory_bytes: none.smallest_bytes,
        cards: cards.into_iter().map(|card| card.id.clone()).collect(),
        remedies: none.choices.iter().map(remedy).collect(),
    }
}

/// The lines of the training step.
fn blamed(script: &Script) -> Vec<(&str, u64)> {
    let step = &script.training;
    let models = script.models.iter().map(|model| &model.made_at);
    let places = [&step.backward_at, &step.step_at, &step.zero_grad_at].into_iter().chain(models);
    places.flatten().map(|place| (place.file.as_str(), place.line)).collect()
}

fn warnings(script: &Script) -> Vec<String> {
    let mut warnings = Vec::new();
    if script.varies {
        warnings.push(
            "the shapes of the inputs differ from step to step: a larger batch than those seen needs more".into(),
        );
    }
    if script.training.eval_mode {
        warnings.push(
            "the model is trained in evaluation mode, in which from_pretrained leaves it: with model.train() before the loop, \
             dropout works and more remedies can be tried"
                .into(),
        );
    }
    if script.compiled {
        warnings.push("the script is compiled: times are those of the operations before compilation".into());
    }
    warnings
}

fn words(mathematics: Mathematics) -> &'static str {
    match mathematics {
        Mathematics::Same => "same",
        Mathematics::Rounding => "rounding",
        Mathematics::Different => "different",
    }
}

/// As it could be typed again.
fn shown(argv: &[String]) -> String {
    let quoted = |word: &String| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./,:+@%".contains(letter);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    format!("python {}", argv.iter().map(quoted).collect::<Vec<_>>().join(" "))
}
