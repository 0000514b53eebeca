//! Collectives, done at once.
//!
//! Ranks run the same program, so a peer is taken to hold what we hold. Small values that are known
//! go where the collective would bring them: a gathered list repeats ours, a sum is ours times the
//! ranks. PyTorch compares such values (does every rank have as many parameters?). Whatever is not
//! known is forgotten where it would have been overwritten.

use super::{Communicator, communicator};
use crate::alike;
use crate::known::{self, KEPT_AT_MOST};

/// Bytes of an `ncclDataType_t`.
pub fn element(data_type: i32) -> usize {
    match data_type {
        0 | 1 | 10 | 11 => 1,
        6 | 9 => 2,
        2 | 3 | 7 => 4,
        _ => 8,
    }
}

/// Puts `ours` where each rank's part belongs.
fn spread(comm: Communicator, ours: usize, into: usize, bytes: usize) {
    let ranks = comm.ranks.max(1) as usize;
    if bytes * ranks > KEPT_AT_MOST {
        return known::forget(into as u64, (bytes * ranks) as u64);
    }
    for rank in 0..ranks {
        known::copy((into + rank * bytes) as u64, ours as u64, bytes);
    }
}

/// Puts the reduction of `ours` over all ranks into `into`.
fn reduce(comm: Communicator, ours: usize, into: usize, count: usize, data_type: i32, operation: i32) {
    const SUM: i32 = 0;
    const MAXIMUM_TO_AVERAGE: std::ops::RangeInclusive<i32> = 2..=4;
    let bytes = count * element(data_type);
    if comm.ranks == 1 || MAXIMUM_TO_AVERAGE.contains(&operation) {
        return known::copy(into as u64, ours as u64, bytes);
    }
    let mut values = vec![0; if bytes > KEPT_AT_MOST { 0 } else { bytes }];
    let summed = operation == SUM
        && !values.is_empty()
        && known::read(ours as u64, &mut values)
        && multiply(&mut values, data_type, comm.ranks);
    if summed {
        known::write(into as u64, &values);
    } else {
        known::forget(into as u64, bytes as u64);
    }
}

/// Multiplies every element in place; false for types that PyTorch branches on nowhere.
fn multiply(values: &mut [u8], data_type: i32, by: i32) -> bool {
    match data_type {
        2 | 3 => each(values, |n| i32::from_ne_bytes(n).wrapping_mul(by).to_ne_bytes()),
        4 | 5 => each(values, |n| i64::from_ne_bytes(n).wrapping_mul(by.into()).to_ne_bytes()),
        7 => each(values, |x| (f32::from_ne_bytes(x) * by as f32).to_ne_bytes()),
        8 => each(values, |x| (f64::from_ne_bytes(x) * f64::from(by)).to_ne_bytes()),
        0 | 1 => each(values, |[n]: [u8; 1]| [n.wrapping_mul(by as u8)]),
        _ => return false,
    }
    true
}

fn each<const N: usize>(values: &mut [u8], change: impl Fn([u8; N]) -> [u8; N]) {
    for value in values.chunks_exact_mut(N) {
        let changed = change(value.try_into().expect("chunks are of this length"));
        value.copy_from_slice(&changed);
    }
}

alike! {
    [ncclAllReduce]
    (send: usize, receive: usize, count: usize, data_type: i32, operation: i32, comm: usize)
    { reduce(communicator(comm), send, receive, count, data_type, operation); }
}
alike! {
    [ncclReduce]
    (send: usize, receive: usize, count: usize, data_type: i32, operation: i32, _root: i32, comm: usize)
    { reduce(communicator(comm), send, receive, count, data_type, operation); }
}
alike! {
    [ncclReduceScatter]
    (send: usize, receive: usize, count: usize, data_type: i32, operation: i32, comm: usize)
    {
        let comm = communicator(comm);
        let ours = send + comm.rank.max(0) as usize * count * element(data_type);
        reduce(comm, ours, receive, count, data_type, operation);
    }
}
alike! {
    [ncclAllGather]
    (send: usize, receive: usize, count: usize, data_type: i32, comm: usize)
    { spread(communicator(comm), send, receive, count * element(data_type)); }
}
alike! {
    [ncclGather]
    (send: usize, receive: usize, count: usize, data_type: i32, _root: i32, comm: usize)
    { spread(communicator(comm), send, receive, count * element(data_type)); }
}
// Each peer sends us what we would send ourselves.
alike! {
    [ncclAlltoAll]
    (send: usize, receive: usize, count: usize, data_type: i32, comm: usize)
    {
        let (comm, bytes) = (communicator(comm), count * element(data_type));
        spread(comm, send + comm.rank.max(0) as usize * bytes, receive, bytes);
    }
}
alike! {
    [ncclScatter]
    (send: usize, receive: usize, count: usize, data_type: i32, _root: i32, comm: usize)
    {
        let bytes = count * element(data_type);
        known::copy(receive as u64, (send + communicator(comm).rank.max(0) as usize * bytes) as u64, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_FOUR: Communicator = Communicator { ranks: 4, rank: 1, device: 0 };

    #[test]
    fn a_gathered_list_repeats_ours() {
        let (ours, list) = (0x10_0000, 0x20_0000);
        known::write(ours as u64, &[7, 0]);
        spread(OF_FOUR, ours, list, 2);
        let mut seen = [9; 8];
        assert!(known::read(list as u64, &mut seen));
        assert_eq!(seen, [7, 0, 7, 0, 7, 0, 7, 0]);
    }

    #[test]
    fn a_sum_is_ours_times_the_ranks_and_a_maximum_is_ours() {
        let (int64, float32, sum, maximum) = (4, 7, 0, 2);
        let at = 0x30_0000;
        known::write(at as u64, &5_i64.to_ne_bytes());
        reduce(OF_FOUR, at, at, 1, int64, sum);
        let mut seen = [0; 8];
        assert!(known::read(at as u64, &mut seen));
        assert_eq!(i64::from_ne_bytes(seen), 20);
        reduce(OF_FOUR, at, at, 2, float32, maximum);
        assert!(known::read(at as u64, &mut seen));
        assert_eq!(i64::from_ne_bytes(seen), 20);
    }

    #[test]
    fn what_cannot_be_told_is_forgotten() {
        let (at, half) = (0x40_0000, 6);
        known::write(at as u64, &[1, 2]);
        reduce(OF_FOUR, at, at, 1, half, 0);
        assert!(!known::read(at as u64, &mut [0; 2]));
    }
}
