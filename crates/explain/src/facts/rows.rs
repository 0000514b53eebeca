//! What was held at the moment of the crash, row by row, with what each row was for.

use std::collections::HashMap;

use trace::{AllocationId, Basis, Category, EventId, History, StackId};

use super::ops::Op;
use super::rounds::Rounds;
use super::stacks::{Origin, Readings};

/// No card has this much; a damaged file may claim it, and sums must not overflow.
pub(crate) const MOST: u64 = 1 << 42;

/// One tensor, or the one that was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// Absent for the request that was refused.
    pub id: Option<AllocationId>,
    pub bytes: u64,
    /// What was asked for, before rounding.
    pub requested: u64,
    pub category: Category,
    pub stack: StackId,
    pub born: Option<EventId>,
    pub round: usize,
}

impl Row {
    pub fn refused(&self) -> bool {
        self.id.is_none()
    }
}

/// Rows of everything held after the event, with categories: marked ones as they are, the others from stacks.
pub(crate) fn rows(history: &History, readings: &Readings, rounds: &Rounds, live: &[AllocationId]) -> Vec<Row> {
    let allocations = history.allocations();
    let mut rows: Vec<Row> = live
        .iter()
        .map(|&id| {
            let (stack, born) = (allocations.stack(id), allocations.born(id));
            let purpose = history.purposes().get(id);
            let category = match purpose.basis {
                Basis::Marked if purpose.category != Category::Unknown => purpose.category,
                _ => by_stack(readings, stack, purpose.category),
            };
            let (bytes, requested) = (allocations.size(id).min(MOST), allocations.requested(id).min(MOST));
            Row { id: Some(id), bytes, requested, category, stack, born, round: rounds.at(born) }
        })
        .collect();
    tell_gradients(&mut rows, readings);
    rows
}

/// What a stack alone says about an allocation.
pub(crate) fn by_stack(readings: &Readings, stack: StackId, otherwise: Category) -> Category {
    let reading = readings.get(stack);
    if reading.scratch {
        return Category::Workspace;
    }
    match reading.origin {
        Origin::Forward => Category::Activation,
        Origin::Backward => Category::Temporary,
        Origin::Optimizer => optimizer_memory(reading.op),
        Origin::Module | Origin::Copy => Category::Parameter,
        Origin::Driver if reading.op.makes_data() => Category::Input,
        Origin::Driver => Category::Activation,
        Origin::Unknown => otherwise,
    }
}

/// State is made once, from nothing or from a gradient; the rest of a step is arithmetic.
fn optimizer_memory(op: Op) -> Category {
    match op {
        Op::Factory | Op::Clone | Op::Unknown => Category::OptimizerState,
        _ => Category::Temporary,
    }
}

/// What a backward pass made and what has a parameter's size is that parameter's gradient.
fn tell_gradients(rows: &mut [Row], readings: &Readings) {
    let mut parameters: HashMap<u64, usize> = HashMap::new();
    for row in rows.iter().filter(|row| row.category == Category::Parameter) {
        *parameters.entry(row.requested).or_default() += 1;
    }
    let backward =
        |row: &Row| row.category == Category::Temporary && readings.get(row.stack).origin == Origin::Backward;
    for row in rows.iter_mut().filter(|row| backward(row)) {
        let Some(left) = parameters.get_mut(&row.requested).filter(|left| **left > 0) else { continue };
        *left -= 1;
        row.category = Category::Gradient;
    }
}
