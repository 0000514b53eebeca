//! The options of a plan, checked against each other and against the script.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use remedies::{Choice, Mathematics, Offer, Remedy, Script};

use super::command::Command;
use crate::args::PlanArgs;
use crate::error::Error;
use crate::job::Job;

/// What `--fix` keeps as it is, and the remedies that would change it.
const KNOBS: &[(&str, &[&str])] = &[
    ("batch", &["micro-batch", "eval-batch"]),
    ("precision", &["bf16-autocast", "fp16-autocast", "bf16-pure"]),
    (
        "optimizer",
        &[
            "optimizer-fused",
            "optimizer-loop",
            "optimizer-8bit",
            "optimizer-4bit",
            "optimizer-offload",
            "step-in-backward",
            "adafactor",
            "sgd",
        ],
    ),
    ("model", &["lora", "qlora", "weights-8bit", "weights-4bit", "freeze"]),
    ("input", &["shorter-input"]),
];

/// The wish, its limit still to be set.
pub fn wish(options: &PlanArgs) -> Result<plan::Wish, Error> {
    for id in options.allow.iter().chain(&options.deny) {
        known(id)?;
    }
    let mut deny = options.deny.clone();
    for knob in &options.fix {
        let Some((_, ids)) = KNOBS.iter().find(|(name, _)| name == knob) else {
            return Err(Error::UnknownKnob {
                asked: knob.clone(),
                there: KNOBS.iter().map(|(name, _)| *name).collect(),
            });
        };
        deny.extend(ids.iter().map(|id| (*id).to_owned()));
    }
    if let Some(id) = options.allow.iter().find(|id| deny.contains(id)) {
        return Err(Error::Contradiction { remedy: id.clone() });
    }
    Ok(plan::Wish {
        limit_bytes: 0,
        keep_math: options.keep_math,
        allow: options.allow.clone(),
        deny,
        unwritable: Vec::new(),
        plans: super::PLANS,
    })
}

fn known(id: &str) -> Result<(), Error> {
    if remedies::find(id).is_some() {
        return Ok(());
    }
    let mut near: Vec<(f64, &str)> =
        remedies::all().iter().map(|remedy| (strsim::jaro_winkler(remedy.about().id, id), remedy.about().id)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let nearest =
        near.into_iter().filter(|(likeness, _)| *likeness > 0.7).take(3).map(|(_, id)| id.to_owned()).collect();
    Err(Error::UnknownRemedy { asked: id.to_owned(), nearest })
}

/// The script's command line; a launcher starts several processes, which a plan cannot fork.
pub fn command(job: &Job) -> Result<Command, Error> {
    let (name, args, path) = match job {
        Job::Script { path, args } => {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            (path.display().to_string(), args, absolute)
        }
        Job::Module { name, args } => {
            let file = module_file(name);
            (file.display().to_string(), args, file)
        }
        Job::Launcher { command, .. } => return Err(Error::PlanLauncher(command.to_string_lossy().into_owned())),
    };
    let words = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Command::new(path, name, words).map_err(Error::BadPlaceholder)
}

/// Where a module of the user's lies, seen from here. One that is installed is not the user's to change anyway.
fn module_file(name: &str) -> PathBuf {
    let stem = std::env::current_dir().unwrap_or_default().join(name.replace('.', "/"));
    let package = stem.join("__main__.py");
    if package.is_file() { package } else { stem.with_extension("py") }
}

/// What is started: the command with the placeholders' values.
pub fn plain_line(job: &Job, python: &Path, command: &Command) -> Result<Vec<OsString>, Error> {
    let plain: Vec<OsString> = command.arguments_given().iter().map(OsString::from).collect();
    let job = match job {
        Job::Script { path, .. } => Job::Script { path: path.clone(), args: plain },
        Job::Module { name, .. } => Job::Module { name: name.clone(), args: plain },
        Job::Launcher { command, .. } => return Err(Error::PlanLauncher(command.to_string_lossy().into_owned())),
    };
    job.command_line(python, None)
}

/// A placeholder that nothing can turn is a mistake worth telling before the search.
pub fn check_knobs(options: &PlanArgs, script: &Script) -> Result<(), Error> {
    if script.ranks > 1 {
        return Err(Error::PlanRanks(script.ranks));
    }
    let asked = options.allow.iter().any(|id| id == "micro-batch");
    match remedies::find("micro-batch").map(|remedy| remedy.offer(script)) {
        Some(Err(why)) if asked || options.max_batch => Err(Error::NoKnob { why }),
        _ => Ok(()),
    }
}

/// Remedies that apply to the script and cannot be written into it, each with the reason.
pub fn unwritable(script: &Script, files: &Command) -> Vec<(String, String)> {
    let refusal = |remedy: &'static dyn Remedy| {
        let settings = match remedy.offer(script).ok()? {
            Offer::Switch(settings) => settings,
            Offer::Dial(mut settings) => settings.pop()?,
        };
        let cannot = remedies::write(&[Choice { remedy, settings }], script, files).err()?;
        Some((remedy.about().id.to_owned(), cannot.why))
    };
    remedies::all().iter().filter_map(|&remedy| refusal(remedy)).collect()
}

/// The script's batch size, and the choices that make it another.
pub fn batch_knob(script: &Script) -> Result<(u64, impl Fn(u64) -> Vec<Choice> + use<>), Error> {
    let remedy = remedies::find("micro-batch").expect("the catalogue has it");
    let offer = remedy.offer(script).map_err(|why| Error::NoKnob { why })?;
    let settings = match offer {
        Offer::Switch(settings) => settings,
        Offer::Dial(mut settings) => settings.remove(0),
    };
    let batch = settings.get("batch").and_then(serde_json::Value::as_u64).unwrap_or(1);
    let with = move |rows: u64| {
        let mut settings = settings.clone();
        for (name, value) in [("parts", 1), ("rows", rows)] {
            settings.insert(name.to_owned(), value.into());
        }
        settings.remove("accumulate");
        vec![Choice { remedy, settings }]
    };
    Ok((batch, with))
}

/// Every remedy, as `--list` prints it.
pub fn list() -> String {
    let mut out = String::new();
    for remedy in remedies::all() {
        let about = remedy.about();
        let mathematics = match about.mathematics {
            Mathematics::Same => "same mathematics",
            Mathematics::Rounding => "rounds differently",
            Mathematics::Different => "changes what is trained",
        };
        out.push_str(&format!("{:<20}{} ({mathematics})\n{:<20}{}\n", about.id, about.title, "", about.cost));
    }
    out
}
