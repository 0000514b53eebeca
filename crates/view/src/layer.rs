//! What is left of a history when some groups are switched off or a search is on: its sums, ready to be drawn.

use crate::lives::Lives;
use crate::pyramid::Pyramid;

/// Replaying this many changes takes about as long as one cache miss of the table would save.
const CHANGES_PER_CHECKPOINT: usize = 256;

/// The sums of one selection of allocations, in one grouping.
#[derive(Debug)]
pub struct Layer {
    /// Bytes of all selected allocations at each moment.
    pub totals: Pyramid,
    /// Which allocations are selected.
    pub selected: Vec<bool>,
    /// The sum of each group before every 256th change.
    checkpoints: Vec<u64>,
    groups: usize,
}

impl Layer {
    pub fn new(lives: &Lives, group_of: &[u8], groups: usize, selected: Vec<bool>) -> Layer {
        let mut sums = vec![0_u64; groups];
        let mut total = 0_u64;
        let mut totals = Vec::with_capacity(lives.moments as usize);
        let mut checkpoints = Vec::with_capacity((lives.changes().len() / CHANGES_PER_CHECKPOINT + 1) * groups);
        for (number, change) in lives.changes().iter().enumerate() {
            if number % CHANGES_PER_CHECKPOINT == 0 {
                checkpoints.extend_from_slice(&sums);
            }
            totals.resize(change.moment as usize, total);
            let at = change.allocation as usize;
            if selected[at] {
                apply(&mut sums[usize::from(group_of[at])], lives.bytes[at], change.birth);
                apply(&mut total, lives.bytes[at], change.birth);
            }
        }
        totals.resize(lives.moments as usize, total);
        Layer { totals: Pyramid::new(totals), selected, checkpoints, groups }
    }

    /// The bytes of each group at a moment.
    pub fn sums_at(&self, lives: &Lives, group_of: &[u8], moment: u32) -> Vec<u64> {
        let changes = lives.changes();
        let end = changes.partition_point(|change| change.moment <= moment);
        let checkpoint = (end / CHANGES_PER_CHECKPOINT).min((self.checkpoints.len() / self.groups).saturating_sub(1));
        let mut sums = self
            .checkpoints
            .get(checkpoint * self.groups..(checkpoint + 1) * self.groups)
            .map_or_else(|| vec![0; self.groups], <[u64]>::to_vec);
        for change in &changes[(checkpoint * CHANGES_PER_CHECKPOINT).min(end)..end] {
            let at = change.allocation as usize;
            if self.selected[at] {
                apply(&mut sums[usize::from(group_of[at])], lives.bytes[at], change.birth);
            }
        }
        sums
    }
}

fn apply(sum: &mut u64, bytes: u64, birth: bool) {
    *sum = if birth { *sum + bytes } else { *sum - bytes };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GROUPS: usize = 3;
    const MOMENTS: u32 = 900;

    fn by_hand(lives: &Lives, layer: &Layer, group_of: &[u8], moment: u32) -> Vec<u64> {
        let mut sums = vec![0; GROUPS];
        for at in (0..lives.len()).filter(|&at| layer.selected[at] && lives.lives_at(at as u32, moment)) {
            sums[usize::from(group_of[at])] += lives.bytes[at];
        }
        sums
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_allocations_alive(
            rows in prop::collection::vec((0..MOMENTS, 0..MOMENTS + 1, 0_u64..1_000, 0_u8..3, any::<bool>()), 0..800),
            moments in prop::collection::vec(0..MOMENTS, 1..20),
        ) {
            let spans: Vec<_> = rows.iter().map(|&(a, b, bytes, ..)| (a.min(b), a.max(b), bytes)).collect();
            let lives = Lives::made_up(&spans, MOMENTS);
            let group_of: Vec<u8> = rows.iter().map(|row| row.3).collect();
            let layer = Layer::new(&lives, &group_of, GROUPS, rows.iter().map(|row| row.4).collect());
            for moment in moments {
                let sums = by_hand(&lives, &layer, &group_of, moment);
                prop_assert_eq!(layer.totals.at(moment), sums.iter().sum::<u64>());
                prop_assert_eq!(layer.sums_at(&lives, &group_of, moment), sums);
            }
        }
    }
}
