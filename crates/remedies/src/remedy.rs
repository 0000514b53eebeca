//! What every remedy says of itself.

use serde::Serialize;

use crate::cannot::CannotWrite;
use crate::script::Script;
use crate::write::Draft;

/// The settings of one use of a remedy, as the Python side reads them: `{"parts": 4}`.
pub type Settings = serde_json::Map<String, serde_json::Value>;

/// What a remedy does to the numbers that training computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mathematics {
    /// The same operations on the same values: equal but for the order of sums.
    Same,
    /// The same mathematics in other number formats.
    Rounding,
    /// Another optimizer, another model or another task.
    Different,
}

/// How much of the user's code has to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// An environment variable or a flag.
    Setting,
    /// One argument or line.
    Line,
    /// Several lines, or the shape of the loop.
    Several,
    /// Another package, or another way to train.
    Rework,
}

/// The facts about a remedy that do not depend on the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    pub id: &'static str,
    /// As an order to a person: "Recompute the activations of each block in backward".
    pub title: &'static str,
    pub mathematics: Mathematics,
    pub effort: Effort,
    /// What it frees and what it costs in time, in a sentence, with the source of any number.
    pub cost: &'static str,
    /// Ids that cannot be used together with it.
    pub conflicts: &'static [&'static str],
    /// Only offered when asked for with `--allow`, or when nothing else fits: it changes what is trained.
    pub last_word: bool,
}

/// In what strengths a remedy can be used on a script. Never empty.
#[derive(Debug, Clone, PartialEq)]
pub enum Offer {
    /// On or off.
    Switch(Settings),
    /// From the weakest to the strongest: each frees at least as much memory as the one before and takes at least as long.
    Dial(Vec<Settings>),
}

/// A remedy with its settings, as part of a plan.
#[derive(Clone)]
pub struct Choice {
    pub remedy: &'static dyn Remedy,
    pub settings: Settings,
}

impl Choice {
    pub fn id(&self) -> &'static str {
        self.remedy.about().id
    }

    /// What this use does to the numbers: `"mathematics"` in the settings, where it is more than the remedy usually does.
    pub fn mathematics(&self) -> Mathematics {
        match self.settings.get("mathematics").and_then(|m| m.as_str()) {
            Some("rounding") => Mathematics::Rounding,
            Some("different") => Mathematics::Different,
            _ => self.remedy.about().mathematics,
        }
    }
}

impl PartialEq for Choice {
    fn eq(&self, other: &Choice) -> bool {
        self.id() == other.id() && self.settings == other.settings
    }
}

impl std::fmt::Debug for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.id(), serde_json::Value::Object(self.settings.clone()))
    }
}

/// One thing that can be done about memory.
pub trait Remedy: Sync {
    fn about(&self) -> &'static About;

    /// How it can be used on this script, or in a sentence why not.
    fn offer(&self, script: &Script) -> Result<Offer, String>;

    /// Writes it into the user's files, behind the remedies that are written already.
    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite>;
}
