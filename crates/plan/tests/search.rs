//! The search against made-up cards and scripts, whose whole truth is known.

use plan::{Bench, Candidate, Outcome, Peak, Ran, Stopped, Wish, largest_batch, search};
use remedies::{Batch, Block, Choice, Loader, Loop, Loss, Model, Optimizer, Place, Script};

const GIB: u64 = 1 << 30;
const OUTSIDE: u64 = GIB / 2;

/// A transformer in a plain loop: float32, AdamW, batch 64 from a DataLoader.
fn script() -> Script {
    let place = || Some(Place { file: "/home/ada/train.py".into(), line: 10 });
    let blocks =
        Block { class: "Block".into(), container: "blocks".into(), count: 12, calls: 12, bytes: 1, ..Block::default() };
    let model = Model {
        class: "GPT".into(),
        module: "__main__".into(),
        made_at: place(),
        parameters: 1000,
        bytes: 4000,
        trainable: 1000,
        dtypes: [("float32".to_owned(), 4000)].into(),
        blocks: vec![blocks],
        ..Model::default()
    };
    let optimizer = Optimizer {
        class: "AdamW".into(),
        module: "torch.optim.adamw".into(),
        made_at: place(),
        parameters: 1000,
        parameter_bytes: 4000,
        state_bytes: 8000,
        steps: 3,
        ..Optimizer::default()
    };
    let loader =
        Loader { batch_size: Some(64), made_at: place(), items: Some(6400), training: true, ..Loader::default() };
    Script {
        models: vec![model],
        optimizers: vec![optimizer],
        loaders: vec![loader],
        training: Loop { backward_at: place(), step_at: place(), backwards_per_step: 1, ..Loop::default() },
        batch: Batch { rows: Some(64) },
        loss: Some(Loss { cross_entropy: true, logits: Some((64, 1000)), at: place() }),
        ranks: 1,
        ..Script::default()
    }
}

/// Weights and states stay, activations are 20 GiB; each remedy does what such remedies do.
struct Card {
    limit: u64,
    measured: usize,
    patience: usize,
}

impl Card {
    fn new(limit_gib: u64) -> Card {
        Card { limit: limit_gib * GIB, measured: 0, patience: 60 }
    }

    fn truth(choices: &[Choice]) -> (u64, f64) {
        let (mut fixed, mut activations, mut transient, mut time) = (4.0, 20.0, 1.0_f64, 1.0);
        for choice in choices {
            let number = |name: &str| choice.settings.get(name).and_then(|value| value.as_f64()).unwrap_or(1.0);
            match choice.id() {
                "bf16-autocast" | "fp16-autocast" => (activations, time) = (activations * 0.55, time * 0.6),
                "bf16-pure" => (fixed, activations, time) = (fixed * 0.5, activations * 0.5, time * 0.55),
                "checkpoint" => {
                    let share = number("count") / number("of");
                    (activations, time) = (activations * (1.0 - 0.9 * share), time * (1.0 + 0.33 * share));
                }
                "micro-batch" => {
                    let parts = number("parts");
                    (activations, time) =
                        (activations / parts * (number("batch") / 64.0), time * (1.0 + 0.04 * (parts - 1.0)));
                }
                "optimizer-fused" => (transient, time) = (0.0, time * 0.97),
                "optimizer-loop" => (transient, time) = (0.0, time * 1.1),
                "activation-offload" => (activations, time) = (activations * 0.1, time * 4.0),
                "adafactor" => fixed -= 2.0,
                "sgd" => fixed -= 2.5,
                _ => {}
            }
        }
        (((fixed + transient.max(activations)) * GIB as f64) as u64, time)
    }
}

impl Bench for Card {
    fn measure(&mut self, candidates: &[Candidate]) -> Result<Vec<Outcome>, Stopped> {
        self.measured += candidates.len();
        let outcome = |candidate: &Candidate| {
            let (bytes, time) = Card::truth(&candidate.choices);
            if candidate.capped && bytes + OUTSIDE > self.limit {
                return Outcome::OutOfMemory;
            }
            let peak = Peak { allocated_bytes: bytes, reserved_bytes: bytes, device_bytes: bytes + OUTSIDE };
            Outcome::Ran(Ran { peak, step_seconds: Some(time), retries: 0, warnings: 0 })
        };
        Ok(candidates.iter().map(outcome).collect())
    }

    fn width(&self) -> usize {
        2
    }

    fn goes_on(&self) -> bool {
        self.measured < self.patience
    }
}

fn wish(limit_gib: u64) -> Wish {
    Wish { limit_bytes: limit_gib * GIB, keep_math: false, allow: vec![], deny: vec![], unwritable: vec![], plans: 3 }
}

fn as_is() -> Ran {
    match Card::new(1).measure(&[Candidate::uncapped(vec![])]) {
        Ok(mut outcomes) => match outcomes.remove(0) {
            Outcome::Ran(ran) => ran,
            other => panic!("{other:?}"),
        },
        Err(Stopped) => unreachable!("nobody stops this card"),
    }
}

fn ids(choices: &[Choice]) -> Vec<&'static str> {
    choices.iter().map(Choice::id).collect()
}

#[test]
fn a_script_that_fits_needs_no_plan() {
    let mut card = Card::new(80);
    let found = search(&script(), as_is(), &wish(80), &mut card).unwrap();
    assert!(found.as_is_fits && found.plans.is_empty());
    assert_eq!(card.measured, 0);
}

#[test]
fn the_fastest_plan_that_fits_is_found() {
    let mut card = Card::new(16);
    let found = search(&script(), as_is(), &wish(16), &mut card).unwrap();
    let best = found.plans.first().expect("there is a plan");
    // Half precision alone leaves 15 GiB and half of one: nothing slower has to be added.
    assert!(ids(&best.choices).iter().any(|id| id.starts_with("bf16")), "{:?}", best.choices);
    assert!(best.ran.peak.device_bytes <= 16 * GIB);
    assert!(best.slowdown.unwrap() < 0.62, "{:?}", best.slowdown);
    assert!(card.measured < 40, "{} measurements", card.measured);
}

#[test]
fn every_plan_fits_and_they_come_in_order() {
    for limit in [6, 8, 10, 12, 14, 18, 20, 22, 24] {
        let mut card = Card::new(limit);
        let found = search(&script(), as_is(), &wish(limit), &mut card).unwrap();
        assert!(!found.plans.is_empty(), "at {limit} GiB: {:?}", found.infeasible);
        for plan in &found.plans {
            let (bytes, time) = Card::truth(&plan.choices);
            assert!(bytes + OUTSIDE <= limit * GIB, "at {limit} GiB: {:?}", plan.choices);
            assert!((plan.slowdown.unwrap() - time).abs() < 1e-9);
        }
        let times: Vec<f64> = found.plans.iter().map(|plan| plan.slowdown.unwrap()).collect();
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1] * 1.05), "at {limit} GiB: {times:?}");
    }
}

#[test]
fn keeping_the_mathematics_leaves_checkpointing_and_small_batches() {
    let mut card = Card::new(12);
    let found = search(&script(), as_is(), &Wish { keep_math: true, ..wish(12) }, &mut card).unwrap();
    let best = found.plans.first().expect("there is a plan");
    assert!(found.plans.iter().all(|plan| plan.mathematics == remedies::Mathematics::Same));
    assert!(ids(&best.choices).iter().any(|id| ["checkpoint", "micro-batch"].contains(id)), "{:?}", best.choices);
    assert!(found.rejected.iter().any(|one| one.remedy == "bf16-autocast" && one.why.contains("--keep-math")));
}

#[test]
fn one_plan_keeps_the_mathematics_where_that_can_be() {
    let mut card = Card::new(10);
    let found = search(&script(), as_is(), &wish(10), &mut card).unwrap();
    assert!(found.plans.iter().any(|plan| plan.mathematics == remedies::Mathematics::Same), "{:?}", found.plans);
}

#[test]
fn the_dial_is_turned_no_further_than_needed() {
    let mut card = Card::new(20);
    let only = Wish { allow: vec!["micro-batch".into()], ..wish(20) };
    let found = search(&script(), as_is(), &only, &mut card).unwrap();
    let parts = found.plans[0].choices[0].settings["parts"].as_u64();
    assert_eq!(parts, Some(2), "20 GiB less what is fixed holds half of the activations");
}

#[test]
fn what_does_not_fit_says_how_small_it_gets() {
    let mut card = Card::new(1);
    let found = search(&script(), as_is(), &wish(1), &mut card).unwrap();
    assert!(found.plans.is_empty());
    let least = found.infeasible.expect("it says so").smallest_bytes;
    assert!(least > GIB && least < 5 * GIB, "{least}");
}

#[test]
fn denied_remedies_are_in_no_plan() {
    let mut card = Card::new(12);
    let denied = Wish { deny: vec!["bf16-autocast".into(), "bf16-pure".into(), "fp16-autocast".into()], ..wish(12) };
    let found = search(&script(), as_is(), &denied, &mut card).unwrap();
    assert!(!found.plans.is_empty());
    assert!(found.plans.iter().all(|plan| ids(&plan.choices).iter().all(|id| !id.contains("16"))));
}

#[test]
fn the_largest_batch_is_found_to_the_row() {
    let remedy = remedies::find("micro-batch").expect("it is there");
    let with = |rows: u64| {
        let settings = [("parts", 1), ("batch", rows), ("rows", rows)];
        let settings = settings.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        vec![Choice { remedy, settings }]
    };
    let mut card = Card::new(16);
    let largest = largest_batch(64, &as_is(), &wish(16), &mut card, &with).unwrap().expect("one row fits");
    let fits = |rows: u64| Card::truth(&with(rows)).0 + OUTSIDE <= 16 * GIB;
    assert!(fits(largest.batch) && !fits(largest.batch + 1), "{}", largest.batch);
    assert!(card.measured < 12, "{} measurements", card.measured);
}
