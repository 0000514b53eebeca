//! What a card would ask for where cuDNN, asked without one, names another workspace.
//!
//! The heuristics answer devicelessly with the card's engines and knobs, but three kinds of engine
//! need a device to size themselves or to be listed at all:
//!
//! - [`runtime`]: runtime-compiled kernels split the sum over the thread blocks that are resident.
//!   Without a card cuDNN counts 18 of them; an H200 holds 132.
//! - [`product`]: 1×1 convolutions as matrix products go through cuBLASLt. They are listed (in the
//!   card's order) once something answers cuDNN's calls to cuBLASLt; what remains is its workspace.
//! - [`depthwise`]: a few depthwise kernels are never listed without a card.
//!
//! Derived from measurements on 2026-11-15: H200, cuDNN 9.19, torch 2.11, 18,287 graphs planned on
//! the card and again without one. The deviceless answer alone was the card's for 7,795 of them; with
//! cuBLASLt answered and these rules it is equal to the byte for 16,261, within 512 bytes for 17,065
//! and within 2 MiB for 17,896. Leaving cuBLASLt's products aside, 8,394 of 8,507 are equal. The
//! rules were fitted to these graphs, so the shares are not those of a trial on unseen ones.
//!
//! Engine numbers and tile sizes are those of cuDNN 9.19 for compute capability 9.0; nothing here is
//! neutral to the architecture, so elsewhere, and for other than two spatial dimensions, the
//! deviceless answer stands. Fewer or more multiprocessors scale the H200's counts, unmeasured.

pub mod depthwise;
#[cfg(test)]
mod measured;
pub mod product;
pub mod runtime;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Forward,
    DataGradient,
    WeightGradient,
}

/// A convolution's graph as its descriptors say it; dimensions are n, c, then space.
#[derive(Clone, Debug)]
pub struct Convolution {
    pub op: Op,
    pub x: Vec<i64>,
    /// Output channels, input channels of one group, then the filter.
    pub w: Vec<i64>,
    pub y: Vec<i64>,
    pub stride: Vec<i64>,
    pub padding: Vec<i64>,
    /// `cudnnDataType_t`: 0 is float, 2 half, 9 bfloat16.
    pub data_type: i32,
    pub channels_last: bool,
}

/// The first plan that cuDNN builds without a card.
#[derive(Clone, Debug)]
pub struct Choice {
    pub engine: i64,
    /// `cudnnBackendKnobType_t` and value.
    pub knobs: Vec<(i32, i64)>,
    pub workspace: u64,
}

/// Whether the rules below were measured under this cuDNN (`cudnnGetVersion`): engine numbers change between releases.
pub fn holds_for(version: usize) -> bool {
    version / 100 == 919
}

pub(crate) const FLOAT: i32 = 0;
pub(crate) const BFLOAT16: i32 = 9;

impl Convolution {
    fn is_planar(&self) -> bool {
        let ranks = [&self.x, &self.w, &self.y].iter().all(|dimensions| dimensions.len() == 4);
        ranks && self.stride.len() == 2 && self.padding.len() == 2
    }

    pub(crate) fn groups(&self) -> i64 {
        self.x[1] / self.w[1].max(1)
    }

    pub(crate) fn is_depthwise(&self) -> bool {
        self.groups() > 1 && self.w[1] == 1
    }

    /// Positions of the filter.
    pub(crate) fn taps(&self) -> i64 {
        self.w[2] * self.w[3]
    }

    /// A matrix product in disguise: 1×1, stride 1, no padding, one group.
    pub(crate) fn is_product(&self) -> bool {
        self.taps() == 1 && self.groups() == 1 && self.stride == [1, 1] && self.padding == [0, 0]
    }
}

impl Choice {
    pub(crate) fn knob(&self, kind: i32) -> Option<i64> {
        self.knobs.iter().find(|(found, _)| *found == kind).map(|(_, value)| *value)
    }
}

/// The workspace that the card would ask for, given the first plan built without one.
pub fn workspace(conv: &Convolution, choice: &Choice, multiprocessors: i32, compute: (i32, i32)) -> u64 {
    if compute != (9, 0) || !conv.is_planar() {
        return choice.workspace;
    }
    if let Some(limit) = product::limit(conv, choice) {
        return choice.workspace + product::workspace(conv, limit, multiprocessors);
    }
    if conv.is_depthwise() {
        return depthwise::workspace(conv, choice);
    }
    runtime::workspace(conv, choice, multiprocessors)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A square convolution with `padding` on both sides; channels as `(in, out, groups)`.
    pub(crate) fn square(
        op: Op,
        n: i64,
        (ci, co, groups): (i64, i64, i64),
        size: i64,
        filter: i64,
        stride: i64,
    ) -> Convolution {
        let padding = if filter == stride { 0 } else { filter / 2 };
        let out = (size + 2 * padding - filter) / stride + 1;
        Convolution {
            op,
            x: vec![n, ci, size, size],
            w: vec![co, ci / groups, filter, filter],
            y: vec![n, co, out, out],
            stride: vec![stride; 2],
            padding: vec![padding; 2],
            data_type: FLOAT,
            channels_last: true,
        }
    }

    pub(crate) fn choice(engine: i64, knobs: &[(i32, i64)], workspace: u64) -> Choice {
        Choice { engine, knobs: knobs.to_vec(), workspace }
    }

    #[test]
    fn other_cards_and_other_ranks_keep_the_deviceless_answer() {
        let mut conv = square(Op::WeightGradient, 32, (64, 64, 1), 56, 3, 1);
        let plan = choice(68, &[(2, 5), (13, 0), (18, 1), (25, 0), (27, 1), (28, 1)], 295_107);
        assert_eq!(workspace(&conv, &plan, 108, (8, 0)), 295_107);
        conv.x.push(56);
        assert_eq!(workspace(&conv, &plan, 132, (9, 0)), 295_107);
    }
}
