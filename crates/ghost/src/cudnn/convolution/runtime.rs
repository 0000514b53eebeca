//! Runtime-compiled convolution kernels, which share the sum over the blocks that are resident.
//!
//! The output is cut into tiles, tiles into clusters (knobs 27 and 28). Clusters that fill whole
//! waves of the card run as they are; the clusters of the last, incomplete wave are cut along the
//! sum into as many slices as still fit the wave, if a cost model finds that worth it. Each slice
//! leaves a tile of floats; pairs of slices are added in a tree, with a semaphore each:
//!
//! ```text
//! slices × tiles × tile × 4 bytes + 127 + 4 × (tiles × pairs in the tree + 8 + counter)
//! ```
//!
//! More than two waves need a counter of tiles (4 + 127 bytes even without slices). Knob 25 = 1
//! forbids slices. NCHW adds copies of the tensors, the same with and without a card, so the answer
//! is the deviceless workspace minus this formula for the 18 blocks that cuDNN then assumes, plus
//! the formula for the card. The cost model's constants were found by asking the deviceless cuDNN
//! about sums of every length.

use super::{BFLOAT16, Choice, Convolution, Op};

/// Blocks that cuDNN takes as resident without a card (a full GPC of a Hopper has as many).
const DEVICELESS: i64 = 18;
/// What a cluster's blocks must share is a GPC, so large clusters leave multiprocessors idle:
/// clusters resident at once by cluster size, H200, fitted to 3,575 plans (7 is the least certain).
const RESIDENT: [(i64, i64); 9] = [(1, 132), (2, 66), (3, 39), (4, 30), (5, 22), (6, 17), (7, 14), (8, 15), (16, 7)];
const MULTIPROCESSORS: i64 = 132;
/// Rows and columns of a tile by knob 2.
const TILES: [(i64, i64, i64); 14] = [
    (0, 128, 128),
    (1, 128, 64),
    (2, 128, 32),
    (3, 256, 128),
    (4, 256, 64),
    (5, 64, 64),
    (6, 128, 256),
    (7, 64, 128),
    (8, 64, 32),
    (9, 64, 256),
    (16, 256, 32),
    (18, 64, 192),
    (19, 128, 192),
    (20, 256, 96),
];

/// The card's workspace, or the deviceless one where this is another kind of engine.
pub fn workspace(conv: &Convolution, choice: &Choice, multiprocessors: i32) -> u64 {
    let Some(kernel) = Kernel::of(conv, choice) else {
        return choice.workspace;
    };
    let Some(copies) = choice.workspace.checked_sub(kernel.workspace(deviceless(kernel.cluster))) else {
        return choice.workspace;
    };
    copies + kernel.workspace(resident(kernel.cluster, multiprocessors))
}

fn deviceless(cluster: i64) -> i64 {
    (DEVICELESS / cluster).max(1)
}

/// Clusters resident on a card; one with fewer multiprocessors than an H200 holds as many fewer.
fn resident(cluster: i64, multiprocessors: i32) -> i64 {
    let measured = RESIDENT.iter().find(|(size, _)| *size == cluster).map(|(_, count)| *count);
    let count = measured.unwrap_or(120 / cluster);
    (count * i64::from(multiprocessors) / MULTIPROCESSORS).max(1)
}

/// What a runtime-compiled kernel does with one convolution.
struct Kernel {
    cluster: i64,
    clusters: i64,
    tile: i64,
    /// Steps of the sum, and how far one goes.
    steps: i64,
    depth: i64,
    sliceable: bool,
    bfloat16: bool,
}

impl Kernel {
    fn of(conv: &Convolution, choice: &Choice) -> Option<Kernel> {
        if !is_runtime_compiled(conv.op, choice.engine) {
            return None;
        }
        let (rows, columns) = (choice.knob(27)?, choice.knob(28)?);
        let (_, height, width) = *TILES.iter().find(|(knob, ..)| Some(*knob) == choice.knob(2))?;
        let depth = if choice.knob(13)? == 1 { 64 } else { 32 };
        let (down, across, steps) = extent(conv, height, width, depth);
        Some(Kernel {
            cluster: rows * columns,
            clusters: ceil(down, rows) * ceil(across, columns),
            tile: height * width,
            steps,
            depth,
            sliceable: choice.knob(25)? == 0,
            bfloat16: conv.data_type == BFLOAT16,
        })
    }

    fn workspace(&self, resident: i64) -> u64 {
        let last = self.clusters % resident;
        let counter = i64::from(ceil(self.clusters, resident) > 2);
        let slices = self.slices(resident, last);
        if slices < 2 {
            return (131 * counter) as u64;
        }
        let tiles = last * self.cluster;
        (tiles * slices * self.tile * 4 + 127 + 4 * (tiles * pairs(slices) + 8 + counter)) as u64
    }

    fn slices(&self, resident: i64, last: i64) -> i64 {
        if !self.sliceable || last == 0 {
            return 1;
        }
        let most = (resident / last).min(self.steps);
        if self.clusters > resident {
            return self.cheapest(most, |slices| self.late_cost(slices));
        }
        let long = most.min(self.steps / (1024 / self.depth + 1));
        if long > 8 { long } else { self.cheapest(most, |slices| self.level_cost() * levels(slices)) }
    }

    fn cheapest(&self, most: i64, overhead: impl Fn(i64) -> f64) -> i64 {
        let cost = |slices: i64| ceil(self.steps, slices) as f64 + overhead(slices);
        (1..=most).fold(1, |best, slices| if cost(slices) < cost(best) { slices } else { best })
    }

    /// Steps that one level of the tree costs when there are no whole waves.
    fn level_cost(&self) -> f64 {
        self.scale() * (4.62 + 32113.0 / self.tile as f64)
    }

    /// Steps that slices cost behind whole waves, which hide part of it. An interpolation: most of
    /// the misses among these kernels are here.
    fn late_cost(&self, slices: i64) -> f64 {
        const BY_LEVEL: [f64; 9] = [0.0, 1.0, 2.07, 2.93, 3.52, 3.9, 4.1, 4.3, 4.5];
        let level = (slices as f64).log2();
        let below = BY_LEVEL[level as usize];
        let hidden = below + level.fract() * (BY_LEVEL[level as usize + 1] - below);
        self.scale() * (2.65 + 10813.0 / self.tile as f64) * hidden
    }

    /// Steps of 64 in half precision are the unit; cuDNN counts eight times as much for bfloat16.
    fn scale(&self) -> f64 {
        64.0 / self.depth as f64 * if self.bfloat16 { 8.0 } else { 1.0 }
    }
}

fn is_runtime_compiled(op: Op, engine: i64) -> bool {
    match op {
        Op::Forward => matches!(engine, 62 | 67),
        Op::DataGradient => matches!(engine, 67 | 71),
        Op::WeightGradient => matches!(engine, 65 | 68),
    }
}

/// Tiles down and across the output, and steps of the sum.
fn extent(conv: &Convolution, height: i64, width: i64, depth: i64) -> (i64, i64, i64) {
    let positions = |tensor: &[i64]| tensor[0] * tensor[2] * tensor[3];
    let taps = conv.taps();
    match conv.op {
        Op::Forward => (ceil(positions(&conv.y), height), ceil(conv.w[0], width), ceil(conv.w[1], depth) * taps),
        Op::DataGradient => (ceil(positions(&conv.x), height), ceil(conv.x[1], width), ceil(conv.w[0], depth) * taps),
        Op::WeightGradient => (ceil(conv.w[0], height), ceil(conv.w[1], width) * taps, ceil(positions(&conv.y), depth)),
    }
}

/// Additions of pairs when `slices` are halved, rounding up, until one is left.
fn pairs(mut slices: i64) -> i64 {
    let mut pairs = 0;
    while slices > 1 {
        slices = ceil(slices, 2);
        pairs += slices;
    }
    pairs
}

fn levels(slices: i64) -> f64 {
    f64::from(64 - ((slices - 1) as u64).leading_zeros())
}

fn ceil(value: i64, unit: i64) -> i64 {
    (value + unit - 1) / unit
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choice, square};
    use super::*;

    fn knobs(tile: i64, depth: i64, rows: i64, columns: i64) -> [(i32, i64); 6] {
        [(2, tile), (13, depth), (18, 1), (25, 0), (27, rows), (28, columns)]
    }

    #[test]
    fn fourteen_slices_of_nine_tiles() {
        let conv = square(Op::WeightGradient, 32, (64, 64, 1), 56, 3, 1);
        let plan = choice(68, &knobs(5, 0, 1, 1), 295_107);
        assert_eq!(workspace(&conv, &plan, 132), 126 * 16384 + 663);
    }

    #[test]
    fn clusters_of_three_leave_multiprocessors_idle() {
        let mut conv = square(Op::WeightGradient, 32, (64, 64, 1), 56, 3, 1);
        conv.data_type = BFLOAT16;
        assert_eq!(workspace(&conv, &choice(65, &knobs(5, 1, 1, 3), 295_107), 132), 1_917_591);
    }

    #[test]
    fn only_the_last_wave_is_sliced() {
        let conv = square(Op::WeightGradient, 64, (512, 512, 1), 14, 3, 1);
        // 144 tiles: 132 as they are, 12 in 11 slices.
        assert_eq!(workspace(&conv, &choice(68, &knobs(0, 0, 1, 1), 131), 132), 132 * 65536 + 735);
    }

    #[test]
    fn a_tree_of_five_adds_three_two_and_one_pairs() {
        assert_eq!([1, 2, 3, 5, 7, 11, 14, 16].map(pairs), [0, 1, 3, 6, 7, 12, 14, 15]);
    }
}
