//! The search: each remedy alone first, then the sets that look fastest among those that look as if they fit.

use std::collections::HashMap;

use remedies::{Choice, Mathematics, Script};

use crate::bench::{Bench, Candidate, Outcome, Peak, Ran, Stopped};
use crate::guess::{Guess, Points};
use crate::pool::{Pool, Rejected};
use crate::rank::{SAME_TIME, compare, mathematics};
use crate::sets::{Catalogue, Set};
use crate::wish::Wish;

/// What frees less than this share, and saves no time, is not worth reading about.
const WORTH_IT: f64 = 0.003;
/// A guess may be this much over the limit and still be measured.
const HOPE: f64 = 1.02;
/// What each remedy does alone is no plan yet: so many rounds follow even where time is short.
const ROUNDS_AT_LEAST: usize = 4;
/// Rounds of measuring after which the search has had its chance.
const ROUNDS: usize = 24;

/// Why a remedy that works is in no plan: times within a few percent count as the same (see rank.rs).
const NOT_NEEDED: &str = "the plans above are as fast or faster without it";

/// A set of remedies that was measured to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub choices: Vec<Choice>,
    pub ran: Ran,
    /// How much longer a step takes than that of the script as it is, where both are known.
    pub slowdown: Option<f64>,
    pub mathematics: Mathematics,
}

/// What one remedy does alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    pub choice: Choice,
    pub peak: Peak,
    pub slowdown: Option<f64>,
}

/// Nothing fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Infeasible {
    /// The least that was measured with remedies, everything included.
    pub smallest_bytes: u64,
    pub choices: Vec<Choice>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub as_is: Ran,
    pub as_is_fits: bool,
    /// Best first.
    pub plans: Vec<Plan>,
    pub effects: Vec<Effect>,
    pub rejected: Vec<Rejected>,
    pub infeasible: Option<Infeasible>,
}

/// Finds plans for a script that was measured as it is on a card that is never full.
pub fn search(script: &Script, as_is: Ran, wish: &Wish, bench: &mut dyn Bench) -> Result<Found, Stopped> {
    let mut as_is = as_is;
    if let Some(fitting) = fits_as_is(&as_is, wish, bench)? {
        as_is.retries = fitting.retries;
        return Ok(Found {
            as_is,
            as_is_fits: true,
            plans: vec![],
            effects: vec![],
            rejected: vec![],
            infeasible: None,
        });
    }
    let found = attempt(Search::new(Pool::of(script, wish, false), as_is.clone(), wish), bench)?;
    if !found.plans.is_empty() {
        return Ok(found);
    }
    let mild = found.infeasible.clone();
    let mut last = attempt(Search::new(Pool::of(script, wish, true), as_is, wish), bench)?;
    last.infeasible = last.infeasible.map(|with_last_words| match mild {
        Some(mild) if mild.smallest_bytes <= with_last_words.smallest_bytes => mild,
        _ => with_last_words,
    });
    Ok(last)
}

fn attempt(mut search: Search<'_>, bench: &mut dyn Bench) -> Result<Found, Stopped> {
    search.singles(bench)?;
    search.combine(bench)?;
    if search.best().is_empty() {
        search.strongest(bench)?;
    }
    Ok(search.found())
}

/// The run that shows it, if the script fits as it is.
fn fits_as_is(as_is: &Ran, wish: &Wish, bench: &mut dyn Bench) -> Result<Option<Ran>, Stopped> {
    if wish.fits(as_is.peak.device_bytes) {
        return Ok(Some(as_is.clone()));
    }
    if !may_fit(as_is, wish) {
        return Ok(None);
    }
    let outcome = bench.measure(&[Candidate::capped(vec![])])?.pop();
    Ok(outcome.and_then(|outcome| if let Outcome::Ran(ran) = outcome { Some(ran) } else { None }))
}

/// Too large only by what PyTorch keeps for later, which it gives back when it must.
fn may_fit(ran: &Ran, wish: &Wish) -> bool {
    let outside = ran.peak.device_bytes.saturating_sub(ran.peak.reserved_bytes);
    !wish.fits(ran.peak.device_bytes) && wish.fits(ran.peak.allocated_bytes + outside)
}

struct Search<'a> {
    pool: Pool,
    catalogue: Catalogue,
    points: Points,
    /// What sets that may fit did on a card of the wished size.
    capped: HashMap<Set, Outcome>,
    useful: Vec<usize>,
    wish: &'a Wish,
}

impl<'a> Search<'a> {
    fn new(pool: Pool, as_is: Ran, wish: &'a Wish) -> Search<'a> {
        let catalogue = Catalogue::of(&pool);
        Search { pool, catalogue, points: Points::new(as_is), capped: HashMap::new(), useful: Vec::new(), wish }
    }

    /// Measures every switch, and every dial where a line can be laid through it.
    fn singles(&mut self, bench: &mut dyn Bench) -> Result<(), Stopped> {
        let mut asked: Vec<usize> = self.catalogue.switches().to_vec();
        for dial in self.catalogue.dials() {
            asked.extend(samples(dial));
        }
        let sets: Vec<Set> = asked.into_iter().map(Set::of).collect();
        self.measure(&sets, bench)?;
        self.useful = self.catalogue.switches().iter().copied().filter(|&index| self.is_useful(index)).collect();
        Ok(())
    }

    fn is_useful(&self, index: usize) -> bool {
        let before = self.points.as_is.peak.device_bytes as f64;
        self.points.measured(Set::of(index)).is_some_and(|alone| {
            alone.device_bytes < before * (1.0 - WORTH_IT) || alone.factor < 0.98 && alone.device_bytes <= before * 1.05
        })
    }

    fn combine(&mut self, bench: &mut dyn Bench) -> Result<(), Stopped> {
        let sets = self.catalogue.sets(&self.useful);
        for round in 0..ROUNDS {
            let open = self.open(&sets, bench.width());
            if open.is_empty() || round >= ROUNDS_AT_LEAST && !bench.goes_on() {
                return Ok(());
            }
            self.measure_open(&open, bench)?;
        }
        Ok(())
    }

    /// Of the plans that look best, those that nobody has seen fit yet.
    fn open(&self, sets: &[Set], width: usize) -> Vec<Set> {
        let wanted = self.chosen(sets.iter().copied().filter(|&set| self.is_hopeful(set)));
        wanted.into_iter().filter(|&set| self.fitting(set).is_none()).take(width).collect()
    }

    fn is_hopeful(&self, set: Set) -> bool {
        if self.fitting(set).is_some() {
            return true;
        }
        match self.points.ran(set) {
            Some(ran) => may_fit(ran, self.wish) && !self.capped.contains_key(&set),
            None => {
                let limit = self.wish.limit_bytes as f64 * HOPE;
                self.points.guess(&self.catalogue, set).is_some_and(|guess| guess.device_bytes <= limit)
            }
        }
    }

    fn measure_open(&mut self, open: &[Set], bench: &mut dyn Bench) -> Result<(), Stopped> {
        let (unsure, new): (Vec<Set>, Vec<Set>) = open.iter().partition(|set| self.points.ran(**set).is_some());
        self.measure(&new, bench)?;
        let candidates: Vec<Candidate> =
            unsure.iter().map(|&set| Candidate::capped(self.catalogue.choices(set))).collect();
        for (&set, outcome) in unsure.iter().zip(bench.measure(&candidates)?) {
            self.capped.insert(set, outcome);
        }
        Ok(())
    }

    fn measure(&mut self, sets: &[Set], bench: &mut dyn Bench) -> Result<(), Stopped> {
        let candidates: Vec<Candidate> =
            sets.iter().map(|&set| Candidate::uncapped(self.catalogue.choices(set))).collect();
        for (&set, outcome) in sets.iter().zip(bench.measure(&candidates)?) {
            self.note(set, &outcome);
            self.points.add(set, outcome);
        }
        Ok(())
    }

    /// A remedy that does not work alone is out, with its reason.
    fn note(&mut self, set: Set, outcome: &Outcome) {
        let alone = (set.len() == 1).then(|| set.indices().next()).flatten();
        match (outcome, alone) {
            (Outcome::Refused { remedy, why }, Some(_)) => self.pool.reject(remedy, why.clone()),
            (Outcome::Failed(why), Some(index)) => {
                let id = self.catalogue.choice(index).id();
                self.pool.reject(id, format!("the script failed with it: {why}"));
            }
            _ => {}
        }
    }

    /// The run that shows that a set fits, if there is one.
    fn fitting(&self, set: Set) -> Option<&Ran> {
        match self.capped.get(&set) {
            Some(Outcome::Ran(ran)) => Some(ran),
            Some(_) => None,
            None => self.points.ran(set).filter(|ran| set != Set::NONE && self.wish.fits(ran.peak.device_bytes)),
        }
    }

    /// The best of these sets, no two of which are nearly the same, and one that keeps the mathematics if there is one.
    fn chosen(&self, sets: impl Iterator<Item = Set>) -> Vec<Set> {
        let guess = |set: Set| self.guess(set).map(|guess| guess.factor);
        let mut ranked: Vec<(Set, Vec<Choice>, f64)> = sets
            .filter(|&set| set != Set::NONE)
            .filter_map(|set| Some((set, self.catalogue.choices(set), guess(set)?)))
            .collect();
        let keeps = |one: &(Set, Vec<Choice>, f64)| mathematics(&one.1) == Mathematics::Same;
        let same: Vec<(Set, Vec<Choice>, f64)> = ranked.iter().filter(|one| keeps(one)).cloned().collect();
        let mut chosen: Vec<(Set, Vec<Choice>, f64)> = Vec::new();
        while chosen.len() < self.wish.plans
            && let Some(best) = best_of(&ranked)
        {
            ranked.retain(|one| !says_nothing_new(&one.1, &best.1));
            chosen.push(best);
        }
        if !chosen.iter().any(keeps)
            && let Some(same) = best_of(&same)
        {
            chosen.truncate(self.wish.plans.saturating_sub(1).max(1));
            chosen.push(same);
        }
        chosen.into_iter().map(|one| one.0).collect()
    }

    fn guess(&self, set: Set) -> Option<Guess> {
        self.points.guess(&self.catalogue, set)
    }

    fn best(&self) -> Vec<Set> {
        self.chosen(self.catalogue.sets(&self.useful).into_iter().filter(|&set| self.fitting(set).is_some()))
    }

    /// Nothing fits: how small does it get?
    fn strongest(&mut self, bench: &mut dyn Bench) -> Result<(), Stopped> {
        let mut sets: Vec<(Set, f64)> = self
            .catalogue
            .sets(&self.useful)
            .into_iter()
            .filter_map(|set| Some((set, self.guess(set)?.device_bytes)))
            .collect();
        sets.sort_by(|a, b| a.1.total_cmp(&b.1));
        let new: Vec<Set> =
            sets.into_iter().map(|(set, _)| set).take(2).filter(|&set| self.points.outcome(set).is_none()).collect();
        self.measure(&new, bench)
    }

    fn found(&self) -> Found {
        let plans: Vec<Plan> = self.best().into_iter().filter_map(|set| self.plan(set)).collect();
        let infeasible = if plans.is_empty() { self.smallest() } else { None };
        Found {
            as_is: self.points.as_is.clone(),
            as_is_fits: false,
            effects: self.effects(),
            rejected: self.rejected(&plans),
            plans,
            infeasible,
        }
    }

    fn plan(&self, set: Set) -> Option<Plan> {
        let choices = self.catalogue.choices(set);
        let ran = self.fitting(set)?.clone();
        let slowdown = self.slowdown(self.points.ran(set)?);
        Some(Plan { mathematics: mathematics(&choices), choices, ran, slowdown })
    }

    fn slowdown(&self, ran: &Ran) -> Option<f64> {
        (ran.step_seconds.is_some() && self.points.as_is.step_seconds.is_some()).then(|| self.points.factor(ran))
    }

    fn smallest(&self) -> Option<Infeasible> {
        let sets = self.catalogue.sets(&self.useful);
        let smallest = sets.into_iter().filter_map(|set| Some((self.points.ran(set)?.peak.device_bytes, set))).min();
        smallest.map(|(smallest_bytes, set)| Infeasible { smallest_bytes, choices: self.catalogue.choices(set) })
    }

    fn effects(&self) -> Vec<Effect> {
        let alone = |index: usize| {
            let ran = self.points.ran(Set::of(index))?;
            let choice = self.catalogue.choice(index).clone();
            Some(Effect { choice, peak: ran.peak, slowdown: self.slowdown(ran) })
        };
        let dials = self.catalogue.dials().iter().flatten();
        self.catalogue.switches().iter().chain(dials).filter_map(|&index| alone(index)).collect()
    }

    /// Also those that work and are in no plan, with what they would do.
    fn rejected(&self, plans: &[Plan]) -> Vec<Rejected> {
        let mut rejected = self.pool.rejected.clone();
        let used = |id: &str| plans.iter().any(|plan| plan.choices.iter().any(|choice| choice.id() == id));
        for &index in self.catalogue.switches() {
            let id = self.catalogue.choice(index).id();
            if used(id) || rejected.iter().any(|one| one.remedy == id) {
                continue;
            }
            let why = if self.useful.contains(&index) { NOT_NEEDED } else { "it frees nothing here" };
            rejected.push(Rejected { remedy: id.to_owned(), why: why.to_owned() });
        }
        for dial in self.catalogue.dials() {
            let Some(id) = dial.first().map(|&index| self.catalogue.choice(index).id()) else { continue };
            if !used(id) && rejected.iter().all(|one| one.remedy != id) {
                rejected.push(Rejected { remedy: id.to_owned(), why: NOT_NEEDED.to_owned() });
            }
        }
        rejected
    }
}

/// The simplest of those that are about as fast as the fastest.
fn best_of(sets: &[(Set, Vec<Choice>, f64)]) -> Option<(Set, Vec<Choice>, f64)> {
    let fastest = sets.iter().map(|one| one.2).min_by(f64::total_cmp)?;
    let about_as_fast = sets.iter().filter(|one| one.2 <= fastest * SAME_TIME);
    about_as_fast.min_by(|a, b| compare(&a.1, a.2, &b.1, b.2)).cloned()
}

/// The same remedies in other strengths, with some more or fewer, or with one swapped for its like. With fewer remedies that
/// change the mathematics less, it is another plan all the same.
fn says_nothing_new(choices: &[Choice], better: &[Choice]) -> bool {
    let alike = |one: &Choice, other: &Choice| {
        one.id() == other.id()
            || one.remedy.about().conflicts.contains(&other.id()) && one.mathematics() == other.mathematics()
    };
    let within = |few: &[Choice], many: &[Choice]| few.iter().all(|one| many.iter().any(|other| alike(one, other)));
    within(better, choices) || within(choices, better) && mathematics(choices) == mathematics(better)
}

/// The settings that are measured alone: two where the dial is long, else its strongest.
fn samples(dial: &[usize]) -> Vec<usize> {
    match dial {
        [] => vec![],
        [first] => vec![*first],
        [first, second] => vec![*first, *second],
        [first, _, third, ..] => vec![*first, *third],
    }
}
