//! The allocations of one device as columns: how large, and from which moment to which they lived.
//!
//! A *moment* is the state between two events: moment 0 is before the first event, moment n after the n-th. So a device
//! with n events has n + 1 moments, and blocks older than the recording are simply born at moment 0.

use trace::{EventId, History};

#[derive(Debug, Clone, Default)]
pub struct Lives {
    /// The first moment at which it is there.
    pub born: Vec<u32>,
    /// The first moment at which it is not there any more; the number of moments if it outlived the recording.
    pub died: Vec<u32>,
    pub bytes: Vec<u64>,
    /// How many moments there are.
    pub moments: u32,
    /// All births and deaths in the order in which they happened.
    changes: Vec<Change>,
    /// Allocation numbers, largest first.
    by_size: Vec<u32>,
}

/// A birth or a death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub moment: u32,
    pub allocation: u32,
    pub birth: bool,
}

/// The moment right after an event.
pub fn after(event: EventId) -> u32 {
    event.0 + 1
}

/// The event that made a moment; none made the first one.
pub fn event_before(moment: u32) -> Option<EventId> {
    moment.checked_sub(1).map(EventId)
}

impl Lives {
    /// A tensor's life ends when it is freed, not when its memory can be used again: that is what PyTorch's
    /// `memory_allocated` counts.
    pub fn of(history: &History, events: usize) -> Lives {
        let moments = events as u32 + 1;
        let allocations = history.allocations();
        let mut lives = Lives { moments, ..Lives::default() };
        for id in allocations.ids() {
            let end = allocations.free_requested(id).or_else(|| allocations.gone(id));
            lives.push(allocations.born(id).map_or(0, after), end.map_or(moments, after), allocations.size(id));
        }
        lives.ordered()
    }

    fn push(&mut self, born: u32, died: u32, bytes: u64) {
        self.born.push(born);
        self.died.push(died);
        self.bytes.push(bytes);
    }

    /// Fills the orders in that the columns imply.
    fn ordered(mut self) -> Lives {
        self.changes = self.changes_in_order();
        self.by_size = (0..self.len() as u32).collect();
        self.by_size.sort_unstable_by_key(|&at| (std::cmp::Reverse(self.bytes[at as usize]), at));
        self
    }

    /// Sorted by counting, since there are millions and moments are small numbers. At each moment births come first, so
    /// that what lived for no moment at all never makes a sum negative.
    fn changes_in_order(&self) -> Vec<Change> {
        let place = |moment: u32, birth: bool| moment as usize * 2 + usize::from(!birth);
        let mut next = vec![0_u32; self.moments as usize * 2 + 1];
        let deaths = || self.died.iter().enumerate().filter(|&(_, &moment)| moment < self.moments);
        self.born.iter().for_each(|&moment| next[place(moment, true) + 1] += 1);
        deaths().for_each(|(_, &moment)| next[place(moment, false) + 1] += 1);
        for at in 1..next.len() {
            next[at] += next[at - 1];
        }
        let mut changes = vec![Change { moment: 0, allocation: 0, birth: true }; next[next.len() - 1] as usize];
        let mut put = |moment: u32, allocation: usize, birth: bool| {
            let slot = &mut next[place(moment, birth)];
            changes[*slot as usize] = Change { moment, allocation: allocation as u32, birth };
            *slot += 1;
        };
        self.born.iter().enumerate().for_each(|(allocation, &moment)| put(moment, allocation, true));
        deaths().for_each(|(allocation, &moment)| put(moment, allocation, false));
        changes
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub fn by_size(&self) -> &[u32] {
        &self.by_size
    }

    pub fn lives_at(&self, allocation: u32, moment: u32) -> bool {
        self.born[allocation as usize] <= moment && moment < self.died[allocation as usize]
    }

    /// Made-up lives for tests: born, died, bytes.
    #[cfg(test)]
    pub fn made_up(rows: &[(u32, u32, u64)], moments: u32) -> Lives {
        let mut lives = Lives { moments, ..Lives::default() };
        rows.iter().for_each(|&(born, died, bytes)| lives.push(born, died, bytes));
        lives.ordered()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_in_order_and_births_come_first() {
        let lives = Lives::made_up(&[(2, 4, 10), (0, 2, 5), (2, 2, 7), (1, 6, 1)], 6);
        let order: Vec<_> = lives.changes().iter().map(|it| (it.moment, it.birth, it.allocation)).collect();
        let expected =
            [(0, true, 1), (1, true, 3), (2, true, 0), (2, true, 2), (2, false, 1), (2, false, 2), (4, false, 0)];
        assert_eq!(order, expected);
        assert_eq!(lives.by_size(), [0, 2, 1, 3]);
    }
}
