//! The roofline against steps measured on a card: how much faster or slower remedies make a step.
//!
//! `steps.json` has what was measured on an H200, and what the twin counted of the same models on the ghost. The low ends
//! of a few backward kernels (`roofline/h200.json`), the speeds of long TF32 products and of batch norms in half precision,
//! and the host's time for a call were fitted to these very steps; the rest to single operators.

use plan::roofline::{Costs, estimate};
use serde::Deserialize;

#[derive(Deserialize)]
struct Measured {
    card: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    /// `model/remedy`; `as-is` is the model without any.
    name: String,
    seconds: f64,
    costs: Costs,
}

struct Compared {
    name: String,
    predicted: f64,
    measured: f64,
    gpu_bound: bool,
}

impl Compared {
    fn off(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

/// Slowdowns relative to the same model as it is.
fn compared() -> Vec<Compared> {
    let file: Measured = serde_json::from_str(include_str!("steps.json")).unwrap();
    let card = gpus::find(&file.card).unwrap();
    let as_is = |step: &Step| {
        let model = step.name.split('/').next().unwrap();
        file.steps.iter().find(|other| other.name == format!("{model}/as-is")).unwrap()
    };
    let others = file.steps.iter().filter(|step| !step.name.ends_with("/as-is"));
    others
        .map(|step| {
            let (found, before) = (estimate(&step.costs, card), estimate(&as_is(step).costs, card));
            Compared {
                name: step.name.clone(),
                predicted: found.seconds / before.seconds,
                measured: step.seconds / as_is(step).seconds,
                gpu_bound: found.gpu_seconds > found.host_seconds && before.gpu_seconds > before.host_seconds,
            }
        })
        .collect()
}

#[test]
fn slowdowns_are_those_measured() {
    let all = compared();
    let lines = all.iter().map(|one| {
        format!(
            "{:28} predicted {:.2} measured {:.2} {:+.0} %",
            one.name,
            one.predicted,
            one.measured,
            one.off() * 100.0
        )
    });
    let mut table = lines.collect::<Vec<_>>().join("\n");
    let worst =
        |bound: bool| all.iter().filter(|one| one.gpu_bound == bound).map(|one| one.off().abs()).fold(0.0, f64::max);
    let mean = all.iter().map(|one| one.off().abs()).sum::<f64>() / all.len() as f64;
    let (device, host) = (worst(true) * 100.0, worst(false) * 100.0);
    table += &format!("\nmean {:.1} %, worst {device:.0} % bound by the device, {host:.0} % by the host", mean * 100.0);
    insta::assert_snapshot!(table);
}

/// What a plan is chosen by: of two remedies that differ by more than a tenth, the faster one is known.
#[test]
fn remedies_are_in_the_right_order() {
    let all = compared();
    let (mut right, mut pairs) = (0, 0);
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            let same_model = one.name.split('/').next() == other.name.split('/').next();
            if same_model && (one.measured / other.measured).ln().abs() > 0.1 {
                pairs += 1;
                right += usize::from((one.measured < other.measured) == (one.predicted < other.predicted));
            }
        }
    }
    assert!(right * 100 >= pairs * 95, "{right} of {pairs}");
}
