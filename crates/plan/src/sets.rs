//! Sets of choices as bits, and all the sets that are worth a thought.

use remedies::Choice;

use crate::pool::Pool;

/// More remedies than this at once are more change than anybody wants to read.
const MOST_SWITCHES: usize = 4;

/// Choices of a catalogue, a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Set(pub u128);

impl Set {
    pub const NONE: Set = Set(0);

    pub fn of(index: usize) -> Set {
        Set(1 << index)
    }

    pub fn with(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    pub fn without(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }

    pub fn holds(self, other: Set) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn meets(self, other: Set) -> bool {
        self.0 & other.0 != 0
    }

    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    pub fn indices(self) -> impl Iterator<Item = usize> {
        (0..u128::BITS as usize).filter(move |index| self.0 >> index & 1 == 1)
    }
}

/// Every choice that the search may make. Those of one dial exclude each other.
#[derive(Debug, Clone)]
pub struct Catalogue {
    choices: Vec<Choice>,
    /// Which of the choices are settings of one dial.
    dials: Vec<Vec<usize>>,
    switches: Vec<usize>,
    /// For each choice, those that cannot go with it.
    conflicts: Vec<Set>,
}

impl Catalogue {
    pub fn of(pool: &Pool) -> Catalogue {
        let mut choices = pool.switches.clone();
        let switches = (0..choices.len()).collect();
        let mut dials = Vec::new();
        for dial in &pool.dials {
            dials.push((choices.len()..choices.len() + dial.len()).collect());
            choices.extend(dial.iter().cloned());
        }
        choices.truncate(u128::BITS as usize);
        let conflicts = choices.iter().map(|one| conflicting(one, &choices)).collect();
        Catalogue { choices, dials, switches, conflicts }
    }

    pub fn choice(&self, index: usize) -> &Choice {
        &self.choices[index]
    }

    pub fn dials(&self) -> &[Vec<usize>] {
        &self.dials
    }

    pub fn switches(&self) -> &[usize] {
        &self.switches
    }

    pub fn dial_of(&self, index: usize) -> Option<&[usize]> {
        self.dials.iter().find(|dial| dial.contains(&index)).map(Vec::as_slice)
    }

    /// In the order in which remedies are injected and written.
    pub fn choices(&self, set: Set) -> Vec<Choice> {
        let place = |choice: &Choice| remedies::all().iter().position(|one| one.about().id == choice.id());
        let mut choices: Vec<Choice> = set.indices().map(|index| self.choices[index].clone()).collect();
        choices.sort_by_key(place);
        choices
    }

    /// Sets without conflicts: some switches, and a setting of each dial or none.
    pub fn sets(&self, useful: &[usize]) -> Vec<Set> {
        let mut sets = vec![Set::NONE];
        for &switch in useful {
            self.extend(&mut sets, &[switch], |set| (set.len() as usize) < MOST_SWITCHES);
        }
        for dial in &self.dials {
            self.extend(&mut sets, dial, |_| true);
        }
        sets
    }

    fn extend(&self, sets: &mut Vec<Set>, more: &[usize], admits: impl Fn(Set) -> bool) {
        let before = sets.clone();
        for &index in more {
            let fits = |set: &&Set| admits(**set) && !set.meets(self.conflicts[index]);
            sets.extend(before.iter().filter(fits).map(|set| set.with(Set::of(index))));
        }
    }
}

fn conflicting(one: &Choice, all: &[Choice]) -> Set {
    let clash = |other: &Choice| {
        other.id() != one.id()
            && (one.remedy.about().conflicts.contains(&other.id())
                || other.remedy.about().conflicts.contains(&one.id()))
    };
    let found = all.iter().enumerate().filter(|(_, other)| clash(other));
    found.fold(Set::NONE, |set, (index, _)| set.with(Set::of(index)))
}
