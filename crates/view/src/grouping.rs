//! Ways to colour memory: by what it is for, by the module that made it, by the line of code. One way a file.

mod category;
mod line;
mod module;

use serde::Serialize;
use trace::{History, Recording};

use crate::lives::Lives;
use crate::site::Sites;

/// Colours that can still be told apart, the rest included.
const MOST_GROUPS: usize = 12;

/// Every allocation in one group. Groups are stacked in their order, the first at the bottom.
#[derive(Debug, Clone)]
pub struct Grouping {
    /// `category`, `module` or `line`.
    pub id: &'static str,
    pub groups: Vec<Group>,
    /// The group of each allocation.
    pub of: Vec<u8>,
    /// Whether all of it was marked by the recorder; absent where that is no question.
    pub marked: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    pub name: String,
    /// The long form, where the name is short for something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Gathers what has no colour of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rest: bool,
}

impl Group {
    fn named(name: impl Into<String>) -> Group {
        Group { name: name.into(), title: None, rest: false }
    }

    fn rest(name: &str) -> Group {
        Group { name: name.into(), title: None, rest: true }
    }
}

/// What a grouping may look at.
pub struct Scene<'a> {
    pub recording: &'a Recording,
    pub history: &'a History,
    pub lives: &'a Lives,
    pub sites: &'a Sites,
    /// The moment of the peak: what is large then deserves a colour.
    pub peak: u32,
}

/// All groupings that say something about this device, the best first.
pub fn all(scene: &Scene<'_>) -> Vec<Grouping> {
    [Some(category::grouping(scene)), module::grouping(scene), line::grouping(scene)].into_iter().flatten().collect()
}

impl Scene<'_> {
    /// How much an allocation counts when colours are handed out: at the peak fully, else a trace of it.
    fn weight(&self, allocation: usize) -> u64 {
        let bytes = self.lives.bytes[allocation];
        if self.lives.lives_at(allocation as u32, self.peak) { bytes << 16 } else { bytes >> 10 }
    }
}
