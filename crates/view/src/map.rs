//! The segment map: what memory looked like at one moment, piece by piece in address order, holes included.
//!
//! Neighbours too small to be seen are drawn as one *mixed* piece that says how much of it is used. All segments of the
//! pool for small requests are taken as one: they are 2 MiB each, and there may be thousands.

use serde::Serialize;
use trace::{AllocationId, EventId, HeldSegment, PoolId};

use crate::grouping::Grouping;
use crate::lives::event_before;
use crate::series::Series;

#[derive(Debug, Serialize, PartialEq)]
pub struct Map {
    pub moment: u32,
    pub reserved: u64,
    pub free: u64,
    /// The largest free piece: a request above it needs a new segment.
    pub largest_hole: u64,
    pub holes: usize,
    pub segments: usize,
    pub strips: Vec<Strip>,
}

/// A segment, or all small ones in a row.
#[derive(Debug, Serialize, PartialEq)]
pub struct Strip {
    pub address: String,
    pub bytes: u64,
    pub segments: usize,
    pub small: bool,
    pub expandable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// In address order, without gaps.
    pub pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Piece {
    Held {
        bytes: u64,
        id: u32,
        group: u8,
    },
    /// Its tensor is dead; another stream may still use the memory.
    Pending {
        bytes: u64,
        id: u32,
    },
    Free {
        bytes: u64,
    },
    Mixed {
        bytes: u64,
        used: u64,
    },
}

impl Piece {
    fn bytes(self) -> u64 {
        match self {
            Piece::Held { bytes, .. }
            | Piece::Pending { bytes, .. }
            | Piece::Free { bytes }
            | Piece::Mixed { bytes, .. } => bytes,
        }
    }

    fn used(self) -> u64 {
        match self {
            Piece::Free { .. } => 0,
            Piece::Mixed { used, .. } => used,
            Piece::Held { bytes, .. } | Piece::Pending { bytes, .. } => bytes,
        }
    }
}

/// `floor`: pieces below this many bytes are not told apart.
pub fn map(series: &Series, grouping: &Grouping, moment: u32, floor: u64) -> Map {
    let segments = series.history().segments_after(event_before(moment));
    let held = held(series, moment);
    let whole: Vec<(HeldSegment, Vec<Piece>)> =
        segments.iter().map(|segment| (*segment, pieces(series, grouping, moment, segment, &held))).collect();
    let holes = || {
        whole.iter().flat_map(|(_, pieces)| pieces).filter_map(|piece| match piece {
            Piece::Free { bytes } => Some(*bytes),
            _ => None,
        })
    };
    Map {
        moment,
        reserved: segments.iter().map(|segment| segment.size).sum(),
        free: holes().sum(),
        largest_hole: holes().max().unwrap_or(0),
        holes: holes().count(),
        segments: segments.len(),
        strips: strips(whole, floor),
    }
}

/// What was taken at the moment, waiting blocks included, by address.
fn held(series: &Series, moment: u32) -> Vec<u32> {
    let allocations = series.history().allocations();
    let taken = |at: u32| match event_before(moment) {
        Some(event) => allocations.lives_after(AllocationId(at), event),
        None => allocations.born(AllocationId(at)).is_none(),
    };
    let mut held: Vec<u32> = (0..allocations.len() as u32).filter(|&at| taken(at)).collect();
    held.sort_unstable_by_key(|&at| allocations.address(AllocationId(at)));
    held
}

fn pieces(series: &Series, grouping: &Grouping, moment: u32, segment: &HeldSegment, held: &[u32]) -> Vec<Piece> {
    let address = |at: u32| series.history().allocations().address(AllocationId(at));
    let end = segment.address.saturating_add(segment.size);
    let first = held.partition_point(|&at| address(at) < segment.address);
    let mut pieces = Vec::new();
    let mut reached = segment.address;
    for &at in held[first..].iter().take_while(|&&at| address(at) < end) {
        let (start, size) = (address(at), series.lives.bytes[at as usize]);
        pieces.extend((start > reached).then(|| Piece::Free { bytes: start - reached }));
        // Damaged files have blocks that overlap or stick out.
        let bytes = start.saturating_add(size).min(end).saturating_sub(start.max(reached));
        let alive = series.lives.lives_at(at, moment);
        let group = grouping.of[at as usize];
        pieces.push(if alive { Piece::Held { bytes, id: at, group } } else { Piece::Pending { bytes, id: at } });
        reached = reached.max(start + bytes);
    }
    pieces.extend((end > reached).then(|| Piece::Free { bytes: end - reached }));
    pieces
}

fn strips(whole: Vec<(HeldSegment, Vec<Piece>)>, floor: u64) -> Vec<Strip> {
    let (small, large): (Vec<_>, Vec<_>) = whole.into_iter().partition(|(segment, _)| segment.small);
    let mut strips: Vec<Strip> = large
        .into_iter()
        .map(|(segment, pieces)| Strip {
            address: format!("{:#x}", segment.address),
            bytes: segment.size,
            segments: 1,
            small: false,
            expandable: segment.expandable,
            pool: pool(segment.pool),
            pieces: merged(pieces, floor),
        })
        .collect();
    strips.extend(small.first().map(|(first, _)| Strip {
        address: format!("{:#x}", first.address),
        bytes: small.iter().map(|(segment, _)| segment.size).sum(),
        segments: small.len(),
        small: true,
        expandable: first.expandable,
        pool: None,
        pieces: merged(small.iter().flat_map(|(_, pieces)| pieces).copied().collect(), floor),
    }));
    strips
}

fn pool(id: PoolId) -> Option<String> {
    (id != (0, 0)).then(|| format!("{}.{}", id.0, id.1))
}

/// Runs of pieces below the floor become one, and no larger than needed to be seen.
fn merged(pieces: Vec<Piece>, floor: u64) -> Vec<Piece> {
    let mut merged: Vec<Piece> = Vec::new();
    for piece in pieces {
        match merged.last_mut() {
            Some(last) if last.bytes() < floor && piece.bytes() < floor => {
                *last = Piece::Mixed { bytes: last.bytes() + piece.bytes(), used: last.used() + piece.used() };
            }
            _ => merged.push(piece),
        }
    }
    merged
}

/// The moments that a saved page keeps a map of: the peak, the refusal, the end.
pub fn moments_worth_keeping(series: &Series) -> Vec<u32> {
    let refused = series.history().oom().map(|EventId(event)| event + 1);
    let mut moments: Vec<u32> =
        [Some(series.peak), refused, Some(series.lives.moments - 1)].into_iter().flatten().collect();
    moments.dedup();
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_neighbours_are_drawn_as_one() {
        let pieces = vec![
            Piece::Held { bytes: 100, id: 1, group: 0 },
            Piece::Held { bytes: 2, id: 2, group: 0 },
            Piece::Free { bytes: 3 },
            Piece::Held { bytes: 4, id: 3, group: 1 },
            Piece::Free { bytes: 50 },
        ];
        let drawn = merged(pieces, 10);
        assert_eq!(
            drawn,
            [
                Piece::Held { bytes: 100, id: 1, group: 0 },
                Piece::Mixed { bytes: 9, used: 6 },
                Piece::Free { bytes: 50 }
            ]
        );
    }
}
