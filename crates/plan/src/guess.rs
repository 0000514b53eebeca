//! What a set would need and take, from what was measured. Guesses choose what to measure next, and nothing else.

use std::collections::HashMap;

use crate::bench::{Outcome, Ran};
use crate::dial;
use crate::sets::{Catalogue, Set};

/// Memory and time of a set, measured or guessed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guess {
    pub device_bytes: f64,
    /// Relative to the script as it is.
    pub factor: f64,
}

/// Everything measured on the card that is never full.
#[derive(Debug, Clone)]
pub struct Points {
    pub as_is: Ran,
    found: HashMap<Set, Outcome>,
}

impl Points {
    pub fn new(as_is: Ran) -> Points {
        Points { found: HashMap::from([(Set::NONE, Outcome::Ran(as_is.clone()))]), as_is }
    }

    pub fn add(&mut self, set: Set, outcome: Outcome) {
        self.found.insert(set, outcome);
    }

    pub fn outcome(&self, set: Set) -> Option<&Outcome> {
        self.found.get(&set)
    }

    pub fn ran(&self, set: Set) -> Option<&Ran> {
        match self.found.get(&set) {
            Some(Outcome::Ran(ran)) => Some(ran),
            _ => None,
        }
    }

    /// How much longer a step takes than that of the script as it is; 1 where that is not known.
    pub fn factor(&self, ran: &Ran) -> f64 {
        match (ran.step_seconds, self.as_is.step_seconds) {
            (Some(now), Some(before)) if before > 0.0 => now / before,
            _ => 1.0,
        }
    }

    pub fn measured(&self, set: Set) -> Option<Guess> {
        self.ran(set).map(|ran| Guess { device_bytes: ran.peak.device_bytes as f64, factor: self.factor(ran) })
    }

    /// `None` where a part of the set is known not to work.
    pub fn guess(&self, catalogue: &Catalogue, set: Set) -> Option<Guess> {
        if let Some(measured) = self.measured(set) {
            return Some(measured);
        }
        if self.found.contains_key(&set) {
            return None;
        }
        if let Some(guess) = self.along_a_dial(catalogue, set) {
            return Some(guess);
        }
        let (base, mut guess) = self.largest_part(set);
        for index in set.without(base).indices() {
            guess = self.applied(catalogue, guess, index)?;
        }
        Some(guess)
    }

    /// The same set was measured with a dial at two other settings (not set at all is one of them).
    fn along_a_dial(&self, catalogue: &Catalogue, set: Set) -> Option<Guess> {
        for index in set.indices() {
            let Some(dial) = catalogue.dial_of(index) else { continue };
            let rest = set.without(Set::of(index));
            let lines = self.line(catalogue, dial, rest);
            if lines.len() >= 2 {
                return Some(at(catalogue, index, &lines));
            }
        }
        None
    }

    /// Measured settings of one dial beside `rest`, strongest last: share, turns and what they gave.
    fn line(&self, catalogue: &Catalogue, dial: &[usize], rest: Set) -> Vec<(f64, f64, Guess)> {
        let mut line = Vec::new();
        if let (Some(without), Some(&first)) = (self.measured(rest), dial.first()) {
            line.push((1.0, dial::no_turns(catalogue.choice(first)), without));
        }
        for &index in dial {
            if let Some(guess) = self.measured(rest.with(Set::of(index))) {
                let choice = catalogue.choice(index);
                line.push((dial::share(choice), dial::turns(choice), guess));
            }
        }
        line
    }

    fn largest_part(&self, set: Set) -> (Set, Guess) {
        let parts =
            self.found.keys().filter(|part| set.holds(**part)).filter_map(|&part| Some((part, self.measured(part)?)));
        let best = parts.max_by(|(one, a), (other, b)| {
            (one.len(), -a.device_bytes)
                .partial_cmp(&(other.len(), -b.device_bytes))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        best.expect("the script as it is was measured, and is part of every set")
    }

    /// One more remedy: the share of memory that it freed alone, on what is held now.
    fn applied(&self, catalogue: &Catalogue, guess: Guess, index: usize) -> Option<Guess> {
        let alone = self.alone(catalogue, index)?;
        let before = self.as_is.peak.device_bytes as f64;
        let device_bytes = match self.fixed(catalogue, index) {
            // Weights and optimizer states do not shrink with the batch, however little else is left.
            Some(fixed) => {
                let share = dial::share(catalogue.choice(index));
                let fixed = fixed.min(guess.device_bytes);
                fixed + (guess.device_bytes - fixed) * share
            }
            None => guess.device_bytes * alone.device_bytes / before,
        };
        Some(Guess { device_bytes, factor: guess.factor * alone.factor })
    }

    /// The remedy alone, measured or between measured settings.
    pub fn alone(&self, catalogue: &Catalogue, index: usize) -> Option<Guess> {
        if let Some(measured) = self.measured(Set::of(index)) {
            return Some(measured);
        }
        let line = self.line(catalogue, catalogue.dial_of(index)?, Set::NONE);
        (line.len() >= 2).then(|| at(catalogue, index, &line))
    }

    /// What is left when a batch gets ever smaller; `None` for other remedies.
    fn fixed(&self, catalogue: &Catalogue, index: usize) -> Option<f64> {
        if !catalogue.choice(index).settings.contains_key("parts") {
            return None;
        }
        let line = self.line(catalogue, catalogue.dial_of(index)?, Set::NONE);
        let ends = (line.first()?, line.last()?);
        (line.len() >= 2)
            .then(|| dial::on_line(0.0, (ends.0.0, ends.0.2.device_bytes), (ends.1.0, ends.1.2.device_bytes)).max(0.0))
    }
}

/// The setting at `index`, on the line through the two measured settings nearest to it.
fn at(catalogue: &Catalogue, index: usize, line: &[(f64, f64, Guess)]) -> Guess {
    let (share, turns) = (dial::share(catalogue.choice(index)), dial::turns(catalogue.choice(index)));
    let mut near: Vec<&(f64, f64, Guess)> = line.iter().collect();
    near.sort_by(|a, b| (a.0 - share).abs().total_cmp(&(b.0 - share).abs()));
    let (a, b) = (near[0], near[1]);
    Guess {
        device_bytes: dial::on_line(share, (a.0, a.2.device_bytes), (b.0, b.2.device_bytes)).max(0.0),
        factor: dial::on_line(turns, (a.1, a.2.factor), (b.1, b.2.factor)).max(0.0),
    }
}
