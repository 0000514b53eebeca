//! The text format: the answer first, then the plans, what each remedy does, and the patch of the best.

use std::fmt::Write;
use std::time::Duration;

use units::{Bytes, Elapsed};

use super::{Effect, Infeasible, LargestBatch, Plan, Planned, Rejected};

/// A patch longer than this is left to `--diff`.
const DIFF_SHOWN: usize = 80;
const CARDS_SHOWN: usize = 5;

/// The plan as text, with a newline at its end.
pub fn text(planned: &Planned) -> String {
    let sections = [
        headline(planned),
        planned.largest_batch.as_ref().map(largest).unwrap_or_default(),
        plans(planned),
        planned.infeasible.as_ref().map(infeasible).unwrap_or_default(),
        effects(planned),
        rejected(&planned.rejected),
        planned.mistakes.section(|file| file.rsplit('/').next().unwrap_or(file).to_owned()),
        patch(planned),
        warnings(planned),
        footer(planned),
    ];
    sections.iter().filter(|section| !section.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n")
}

fn headline(planned: &Planned) -> String {
    let card = format!("{} ({})", planned.gpu.name, Bytes(planned.gpu.memory_bytes));
    let need = planned.as_is.peak.device_bytes.map_or(String::new(), |bytes| format!(": it needs {}", Bytes(bytes)));
    match (planned.as_is.fits, planned.plans.first()) {
        (true, _) => format!("Fits on {card} as it is{}\n", need.replace("it needs", "peak")),
        (false, Some(best)) => format!("Does not fit on {card} as it is{need}\nIt fits with {}\n", in_words(best)),
        (false, None) if planned.infeasible.is_none() => format!("Does not fit on {card} as it is{need}\n"),
        (false, None) => format!("Does not fit on {card}, with any remedy{need}\n"),
    }
}

/// `bf16-autocast and checkpoint: 9.8 GiB, about 1.2 times as long a step`.
fn in_words(plan: &Plan) -> String {
    let names: Vec<&str> = plan.remedies.iter().map(|remedy| remedy.id.as_str()).collect();
    let time = plan.slowdown.as_ref().map_or(String::new(), |slowdown| format!(", {}", pace(slowdown.factor)));
    format!("{}: {}{time}", listed(&names), device(plan.peak.device_bytes))
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".into(),
        [one] => (*one).into(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// How much longer or shorter a step is.
pub fn pace(factor: f64) -> String {
    let percent = ((factor - 1.0) * 100.0).round();
    match percent {
        _ if factor >= 2.0 => format!("about {factor:.1} times as long a step"),
        p if p >= 1.0 => format!("about {p:.0} % slower"),
        p if p <= -1.0 => format!("about {:.0} % faster", -p),
        _ => "about as fast".into(),
    }
}

fn device(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "peak unknown".into(), |bytes| Bytes(bytes).to_string())
}

fn largest(largest: &LargestBatch) -> String {
    let mut out = format!(
        "The largest batch that fits is {} (it is {} now): peak {}\n",
        largest.batch,
        largest.was,
        device(largest.peak.device_bytes)
    );
    if let Some(bound) = largest.too_large {
        let _ = writeln!(out, "  {bound} was tried and runs out of memory");
    }
    out
}

fn plans(planned: &Planned) -> String {
    let mut out = String::new();
    for (number, plan) in planned.plans.iter().enumerate() {
        let time = plan.slowdown.as_ref().map_or("time unknown".into(), |slowdown| pace(slowdown.factor));
        let mathematics = match plan.mathematics.as_str() {
            "same" => "same mathematics",
            "rounding" => "rounds differently",
            _ => "changes what is trained",
        };
        let state = if plan.verified { "patch verified" } else { "measured, no patch verified" };
        let _ =
            writeln!(out, "Plan {}  {}, {time}, {mathematics}  [{state}]", number + 1, device(plan.peak.device_bytes));
        for remedy in &plan.remedies {
            let _ = writeln!(out, "  {:<20}{}{}", remedy.id, remedy.title, settings(&remedy.settings));
        }
        for (name, value) in &plan.environment {
            let _ = writeln!(out, "  set                 {name}={value}");
        }
        if let Some(command) = &plan.command {
            let _ = writeln!(out, "  run                 {command}");
        }
        for note in &plan.notes {
            let _ = writeln!(out, "  note                {}", note.replace('\n', "\n                      "));
        }
    }
    out
}

/// ` (parts 4, rows 16)`, of what a person can make sense of.
fn settings(settings: &serde_json::Map<String, serde_json::Value>) -> String {
    let shown: Vec<String> = settings
        .iter()
        .filter(|(_, value)| value.is_number())
        .map(|(name, value)| format!("{name} {value}"))
        .chain(settings.get("class").and_then(|class| class.as_str()).map(str::to_owned))
        .collect();
    if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) }
}

fn infeasible(infeasible: &Infeasible) -> String {
    let names: Vec<&str> = infeasible.remedies.iter().map(|remedy| remedy.id.as_str()).collect();
    let mut out = format!("The least it was seen to need is {}", Bytes(infeasible.smallest_memory_bytes));
    let _ = writeln!(out, ", with {}", listed(&names));
    if infeasible.cards.is_empty() {
        let _ = writeln!(out, "  no single card of the catalogue has as much");
    } else {
        let shown: Vec<&str> = infeasible.cards.iter().take(CARDS_SHOWN).map(String::as_str).collect();
        let _ = writeln!(out, "  cards that have as much: {}", shown.join(", "));
    }
    out
}

fn effects(planned: &Planned) -> String {
    if planned.effects.is_empty() {
        return String::new();
    }
    let name = |effect: &Effect| format!("{}{}", effect.remedy.id, settings(&effect.remedy.settings));
    let width = planned.effects.iter().map(|effect| name(effect).chars().count()).max().unwrap_or(0);
    let mut out = format!("Alone\n  {:<width$}{:>10}{:>12}  {}\n", "remedy", "peak", "frees", "time");
    let mut rows: Vec<&Effect> = planned.effects.iter().collect();
    rows.sort_by_key(|effect| -effect.frees_bytes);
    for effect in rows {
        let name = name(effect);
        let frees = match effect.frees_bytes {
            bytes if bytes > 0 => Bytes(bytes as u64).to_string(),
            0 => "nothing".into(),
            bytes => format!("-{}", Bytes(bytes.unsigned_abs())),
        };
        let time = effect.slowdown.map(pace).unwrap_or_default();
        let _ = writeln!(out, "  {name:<width$}{:>10}{frees:>12}  {time}", device(effect.peak.device_bytes));
    }
    out
}

fn rejected(rejected: &[Rejected]) -> String {
    if rejected.is_empty() {
        return String::new();
    }
    let mut out = String::from("Not used\n");
    for one in rejected {
        let _ = writeln!(out, "  {:<20}{}", one.remedy, one.why);
    }
    out
}

fn patch(planned: &Planned) -> String {
    let Some(diff) = planned.plans.first().and_then(|plan| plan.diff.as_deref()).filter(|diff| !diff.is_empty()) else {
        return String::new();
    };
    if diff.lines().count() > DIFF_SHOWN {
        return "The patch of plan 1 is long: see it with --diff, write it with --apply\n".into();
    }
    format!("Patch of plan 1 (--apply writes it)\n{diff}")
}

fn warnings(planned: &Planned) -> String {
    planned.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect()
}

fn footer(planned: &Planned) -> String {
    let took = Elapsed(Duration::from_secs_f64(planned.seconds));
    let tries = if planned.tries == 1 { "1 run".to_owned() } else { format!("{} runs", planned.tries) };
    let margin = format!("{} % of the card kept free", planned.margin_percent);
    let times = if planned.effects.is_empty() { String::new() } else { format!("\nTimes: {}", planned.time_basis) };
    format!("Measured on a ghost GPU in {took}, {tries} of the script; {margin}{times}\n")
}
