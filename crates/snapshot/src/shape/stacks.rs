//! Finds a stack that was seen before. Most are: two calls from one line have different lists of the same frames.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use trace::{FrameId, StackId, Stacks};

use crate::pickle::handle::{Handle, Tag};

pub struct StackTable {
    pub stacks: Stacks,
    known: HashTable<(u64, StackId)>,
    held: u64,
    seed: u64,
}

impl Default for StackTable {
    fn default() -> Self {
        // A seed of its own for each reading, so that no file can be made of stacks that all collide.
        let seed = std::hash::RandomState::new().hash_one(0);
        StackTable { stacks: Stacks::default(), known: HashTable::new(), held: 0, seed }
    }
}

/// `Stacks` counts frames with 32 bits.
const MOST_FRAMES: u64 = 1 << 31;

impl StackTable {
    /// The stack of these handles; `None` where one is no frame, or where there are more frames than can be counted.
    pub fn intern(&mut self, handles: &[Handle]) -> Option<StackId> {
        let hash = hash(handles, self.seed)?;
        let stacks = &self.stacks;
        if let Some(&(_, id)) = self.known.find(hash, |&(known, id)| known == hash && same(stacks.get(id), handles)) {
            return Some(id);
        }
        self.add(hash, handles)
    }

    #[cold]
    fn add(&mut self, hash: u64, handles: &[Handle]) -> Option<StackId> {
        self.held += handles.len() as u64;
        if self.held > MOST_FRAMES {
            return None;
        }
        let frames: Vec<FrameId> = handles.iter().map(|handle| FrameId(handle.place())).collect();
        let id = self.stacks.push(&frames);
        self.known.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        Some(id)
    }

    pub fn held_bytes(&self) -> u64 {
        self.held * 4 + self.known.len() as u64 * 24
    }
}

/// All at once instead of up to the first difference: stacks with one hash are the same as good as always.
fn same(frames: &[FrameId], handles: &[Handle]) -> bool {
    let differences = |(frame, handle): (&FrameId, &Handle)| frame.0 ^ handle.place();
    frames.len() == handles.len() && frames.iter().zip(handles).map(differences).fold(0, |all, one| all | one) == 0
}

/// `None` where one handle is no frame. Four sums side by side, because each multiplication waits for the one before.
fn hash(handles: &[Handle], seed: u64) -> Option<u64> {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sums = [seed, seed ^ ODD, seed.rotate_left(17), seed.rotate_left(41)];
    let mut frames = true;
    let (chunks, rest) = handles.as_chunks::<4>();
    for chunk in chunks {
        for (sum, handle) in sums.iter_mut().zip(chunk) {
            *sum = (sum.rotate_left(23) ^ handle.bits()).wrapping_mul(ODD);
            frames &= handle.is(Tag::Frame);
        }
    }
    for (sum, handle) in sums.iter_mut().zip(rest) {
        *sum = (sum.rotate_left(23) ^ handle.bits()).wrapping_mul(ODD);
        frames &= handle.is(Tag::Frame);
    }
    let joined = sums.iter().fold(handles.len() as u64, |all, sum| (all.rotate_left(29) ^ sum).wrapping_mul(ODD));
    frames.then_some(joined ^ (joined >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(ids: &[u32]) -> Vec<Handle> {
        ids.iter().map(|&id| Handle::new(Tag::Frame, id)).collect()
    }

    #[test]
    fn equal_lists_are_one_stack() {
        let mut table = StackTable::default();
        let first = table.intern(&frames(&[1, 2, 3, 4, 5])).unwrap();
        let other = table.intern(&frames(&[1, 2, 3, 5, 4])).unwrap();
        assert_ne!(first, other);
        assert_ne!(table.intern(&frames(&[1, 2, 3, 4])), Some(first));
        assert_eq!(table.intern(&frames(&[1, 2, 3, 4, 5])), Some(first));
        assert_eq!(table.stacks.get(other), [1, 2, 3, 5, 4].map(FrameId));
    }

    #[test]
    fn what_is_no_frame_makes_no_stack() {
        let mut items = frames(&[1, 2]);
        items.push(Handle::NONE);
        assert_eq!(StackTable::default().intern(&items), None);
    }
}
