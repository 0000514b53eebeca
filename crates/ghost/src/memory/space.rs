//! One device's range of addresses.

use std::collections::{BTreeMap, HashMap};
use std::ptr;

/// Reserved per device. Expandable segments reserve 9/8 of the card for every pool and stream, so be generous.
const RANGE: u64 = 8 << 40;
/// What is left if the process may not reserve as much (a limit on virtual memory).
const SMALL_RANGE: u64 = 1 << 40;
/// Address space is taken in steps of this size (segment addresses of an H200 under driver 580).
const CHUNK: u64 = 32 << 20;

/// Free and taken addresses.
pub struct Space {
    base: u64,
    end: u64,
    /// New chunks are taken below this address.
    floor: u64,
    /// What is left of chunks, the newest last: (start, bytes).
    leftovers: Vec<(u64, u64)>,
    /// Whole chunks given back: start to bytes.
    freed: BTreeMap<u64, u64>,
    /// Allocations: start to bytes.
    taken: HashMap<u64, u64>,
}

impl Space {
    pub fn reserve() -> Space {
        let (base, bytes) = [RANGE, SMALL_RANGE]
            .into_iter()
            .find_map(|bytes| map_nothing(bytes).map(|base| (base, bytes)))
            .unwrap_or((0, 0));
        let base = base.next_multiple_of(CHUNK);
        let end = (base + bytes).saturating_sub(CHUNK) / CHUNK * CHUNK;
        Space { base, end, floor: end, leftovers: Vec::new(), freed: BTreeMap::new(), taken: HashMap::new() }
    }

    pub fn contains(&self, address: u64) -> bool {
        (self.base..self.end).contains(&address)
    }

    /// Finds room for a whole number of granules.
    pub fn place(&mut self, bytes: u64) -> Option<u64> {
        let start = self.use_leftover(bytes).or_else(|| self.take_chunk(bytes))?;
        self.taken.insert(start, bytes);
        Some(start)
    }

    fn use_leftover(&mut self, bytes: u64) -> Option<u64> {
        let index = self.leftovers.iter().rposition(|&(_, room)| room >= bytes)?;
        let (start, room) = self.leftovers[index];
        if room == bytes {
            self.leftovers.remove(index);
        } else {
            self.leftovers[index] = (start + bytes, room - bytes);
        }
        Some(start)
    }

    fn take_chunk(&mut self, bytes: u64) -> Option<u64> {
        let whole = bytes.next_multiple_of(CHUNK);
        let start = self.reuse(whole).or_else(|| self.grow(whole))?;
        if whole > bytes {
            self.leftovers.push((start + bytes, whole - bytes));
        }
        Some(start)
    }

    /// The highest range that was given back and is large enough.
    fn reuse(&mut self, whole: u64) -> Option<u64> {
        let (&start, &room) = self.freed.iter().rev().find(|&(_, &room)| room >= whole)?;
        self.freed.remove(&start);
        if room > whole {
            self.freed.insert(start, room - whole);
        }
        Some(start + room - whole)
    }

    fn grow(&mut self, whole: u64) -> Option<u64> {
        let start = self.floor.checked_sub(whole).filter(|&start| start >= self.base)?;
        self.floor = start;
        Some(start)
    }

    /// Gives an allocation back; its size, if there was one at this address.
    pub fn free(&mut self, start: u64) -> Option<u64> {
        let bytes = self.taken.remove(&start)?;
        let whole = bytes / CHUNK * CHUNK;
        if whole > 0 && start.is_multiple_of(CHUNK) {
            self.freed.insert(start, whole);
        }
        let rest = if start.is_multiple_of(CHUNK) { bytes - whole } else { bytes };
        if rest > 0 {
            self.leftovers.push((start + bytes - rest, rest));
        }
        Some(bytes)
    }
}

fn map_nothing(bytes: u64) -> Option<u64> {
    // SAFETY: an anonymous mapping at an address of the kernel's choice; nothing else is touched.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes as usize,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    (at != libc::MAP_FAILED).then_some(at as u64)
}

#[cfg(test)]
mod tests {
    use super::Space;

    const MIB: u64 = 1 << 20;

    /// The first allocations of a recorded H200 run: a 20 MiB segment takes a chunk, 2 MiB segments use what it left.
    #[test]
    fn leftovers_of_a_chunk_are_used_before_a_new_one() {
        let mut space = Space::reserve();
        let large = space.place(20 * MIB).unwrap();
        let small = space.place(2 * MIB).unwrap();
        assert_eq!(small, large + 20 * MIB);
        let next = space.place(20 * MIB).unwrap();
        assert_eq!(next, large - 32 * MIB);
    }

    #[test]
    fn addresses_come_back_after_free() {
        let mut space = Space::reserve();
        let first = space.place(64 * MIB).unwrap();
        assert_eq!(space.free(first), Some(64 * MIB));
        assert_eq!(space.free(first), None);
        assert_eq!(space.place(64 * MIB), Some(first));
    }

    #[test]
    fn allocations_never_overlap() {
        let mut space = Space::reserve();
        let mut live: Vec<(u64, u64)> = Vec::new();
        for round in 0_u64..400 {
            if round % 3 == 2 {
                let (start, _) = live.swap_remove((round as usize * 7) % live.len());
                space.free(start);
            }
            let bytes = (1 + round * 13 % 57) * 2 * MIB;
            let start = space.place(bytes).unwrap();
            assert!(live.iter().all(|&(s, b)| start + bytes <= s || s + b <= start));
            live.push((start, bytes));
        }
    }
}
