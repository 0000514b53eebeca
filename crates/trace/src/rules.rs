//! The allocator's arithmetic: how a request is rounded, and when a free block is cut.
//!
//! A recording has the bytes that were asked for; what PyTorch counts is the block that was handed out.
//! (`c10/cuda/CUDACachingAllocator.cpp`, 2.0 to 2.11: `round_size`, `should_split`)

use crate::Settings;

/// Rounding unit and smallest block (`kMinBlockSize`).
pub(crate) const MIN_BLOCK: u64 = 512;
/// Requests up to this come from the small pool, and large blocks keep a rest up to this (`kSmallSize`).
pub(crate) const SMALL: u64 = 1 << 20;
/// What the small pool asks of CUDA, mapped or allocated; the large pool never asks for so little (`kSmallBuffer`).
pub(crate) const SMALL_SEGMENT: u64 = 2 << 20;

/// What of the settings decides about sizes.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// Slot i is for sizes from 2^(20+i); empty or 0: multiples of 512 only.
    divisions: Vec<u64>,
    max_split: u64,
    expandable: bool,
}

impl Rules {
    pub fn of(settings: &Settings) -> Rules {
        Rules {
            divisions: settings.roundup_power2_divisions.clone(),
            max_split: settings.max_split_size.unwrap_or(u64::MAX),
            expandable: settings.expandable_segments.unwrap_or(false),
        }
    }

    /// The bytes that the allocator looks for.
    pub fn rounded(&self, requested: u64) -> u64 {
        if requested < MIN_BLOCK {
            return MIN_BLOCK;
        }
        let divisions = self.divisions_for(requested);
        if divisions > 1 && requested > MIN_BLOCK.saturating_mul(divisions) {
            return next_division(requested, divisions);
        }
        up_to_multiple(requested, MIN_BLOCK)
    }

    fn divisions_for(&self, requested: u64) -> u64 {
        let slot = (requested.ilog2().saturating_sub(20) as usize).min(15);
        self.divisions.get(slot).copied().unwrap_or(0)
    }

    /// Whether a block loses what is beyond `rounded`; if not, the caller holds all of it.
    pub fn splits(&self, block: u64, rounded: u64, small: bool, expandable: bool) -> bool {
        let rest = block.saturating_sub(rounded);
        if small || expandable || self.expandable {
            return rest >= MIN_BLOCK;
        }
        rounded < self.max_split && rest > SMALL
    }
}

/// The next multiple of a power of two's n-th part (`roundup_power2_next_division`).
fn next_division(size: u64, divisions: u64) -> u64 {
    let floor = 1_u64 << size.ilog2();
    match floor >> divisions.ilog2() {
        0 => floor.saturating_mul(2),
        step => up_to_multiple(size, step),
    }
}

fn up_to_multiple(size: u64, step: u64) -> u64 {
    size.div_ceil(step).saturating_mul(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn plain() -> Rules {
        Rules::of(&Settings::default())
    }

    fn with_divisions(divisions: u64) -> Rules {
        Rules::of(&Settings { roundup_power2_divisions: vec![divisions; 16], ..Settings::default() })
    }

    #[test]
    fn rounds_to_512() {
        for (requested, rounded) in
            [(1, 512), (512, 512), (513, 1024), (1_048_577, 1_049_088), (10_485_759, 10_485_760)]
        {
            assert_eq!(plain().rounded(requested), rounded, "{requested}");
        }
    }

    #[test]
    fn rounds_to_parts_of_powers_of_two() {
        let (four, eight) = (with_divisions(4), with_divisions(8));
        assert_eq!(four.rounded(100 * MIB), 112 * MIB);
        assert_eq!(four.rounded(3 * MIB + 1), 7 * MIB / 2);
        assert_eq!(four.rounded(1200), 1536, "too small for divisions, whatever the documentation says");
        assert_eq!(eight.rounded(5 * MIB), 5 * MIB);
        assert_eq!(eight.rounded(5 * MIB + 1), 11 * MIB / 2);
        assert_eq!(four.rounded(64 * MIB), 64 * MIB);
    }

    #[test]
    fn slots_of_divisions_are_octaves() {
        let mut divisions = vec![0; 16];
        divisions[8] = 2;
        let rules = Rules::of(&Settings { roundup_power2_divisions: divisions, ..Settings::default() });
        assert_eq!(rules.rounded(300 * MIB), 384 * MIB);
        assert_eq!(rules.rounded(200 * MIB + 1), 200 * MIB + 512);
    }

    #[test]
    fn large_blocks_keep_up_to_one_mebibyte() {
        let rules = plain();
        assert!(!rules.splits(12 * MIB, 11 * MIB, false, false));
        assert!(rules.splits(12 * MIB, 11 * MIB - 512, false, false));
        assert!(rules.splits(2 * MIB, 2 * MIB - 512, true, false));
        assert!(rules.splits(20 * MIB, 20 * MIB - 512, false, true));
        assert!(!rules.splits(20 * MIB, 20 * MIB, false, true));
    }

    #[test]
    fn oversize_blocks_are_never_split() {
        let rules = Rules::of(&Settings { max_split_size: Some(128 * MIB), ..Settings::default() });
        assert!(!rules.splits(160 * MIB, 128 * MIB, false, false));
        assert!(rules.splits(160 * MIB, 127 * MIB, false, false));
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        assert_eq!(plain().rounded(u64::MAX), u64::MAX / 512 * 512 + 511);
        with_divisions(8).rounded(u64::MAX);
        with_divisions(u64::MAX).rounded(u64::MAX);
    }
}
