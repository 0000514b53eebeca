//! Which of two plans is better: least time, then least change to the mathematics, then least change to the code.

use std::cmp::Ordering;

use remedies::{Choice, Effort, Mathematics};

/// Times closer than this are the same: estimates are not better than that.
pub const SAME_TIME: f64 = 1.05;

/// Of two sets that are about as fast, the better one is less.
pub fn compare(one: &[Choice], factor: f64, other: &[Choice], other_factor: f64) -> Ordering {
    let weight = |choices: &[Choice]| (mathematics(choices), change(choices));
    weight(one).cmp(&weight(other)).then(factor.total_cmp(&other_factor))
}

/// The largest change that one of them makes.
pub fn mathematics(choices: &[Choice]) -> Mathematics {
    choices.iter().map(Choice::mathematics).max().unwrap_or(Mathematics::Same)
}

fn change(choices: &[Choice]) -> u32 {
    choices.iter().map(|choice| effort(choice.remedy.about().effort)).sum()
}

fn effort(effort: Effort) -> u32 {
    match effort {
        Effort::Setting => 1,
        Effort::Line => 2,
        Effort::Several => 4,
        Effort::Rework => 8,
    }
}
