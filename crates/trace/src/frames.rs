//! Frames and stacks, each distinct one kept once.

use rustc_hash::FxHashMap;

use crate::{FrameId, NameId, StackId};

/// One line of a stack. C++ frames have names and rarely a line; Python frames have all three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    pub function: NameId,
    pub file: NameId,
    pub line: u32,
}

/// The distinct frames of a recording.
#[derive(Debug, Clone, Default)]
pub struct Frames {
    rows: Vec<Frame>,
    known: FxHashMap<Frame, FrameId>,
}

impl Frames {
    pub fn intern(&mut self, frame: Frame) -> FrameId {
        *self.known.entry(frame).or_insert_with(|| {
            self.rows.push(frame);
            FrameId::from_index(self.rows.len() - 1)
        })
    }

    pub fn get(&self, id: FrameId) -> Frame {
        self.rows[id.index()]
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The distinct stacks of a recording: slices of one buffer, innermost frame first.
#[derive(Debug, Clone)]
pub struct Stacks {
    frames: Vec<FrameId>,
    ends: Vec<u32>,
}

impl Default for Stacks {
    fn default() -> Self {
        Stacks { frames: Vec::new(), ends: vec![0] }
    }
}

impl Stacks {
    /// Keeps a stack without looking whether it is there already: readers know better how to find out.
    pub fn push(&mut self, frames: &[FrameId]) -> StackId {
        self.frames.extend_from_slice(frames);
        self.ends.push(u32::try_from(self.frames.len()).expect("stacks have fewer than 2^32 frames in all"));
        StackId::from_index(self.ends.len() - 1)
    }

    /// Innermost first.
    pub fn get(&self, id: StackId) -> &[FrameId] {
        let start = id.index().checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.frames[start..self.ends[id.index()] as usize]
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never: the empty stack is always there.
    pub fn is_empty(&self) -> bool {
        false
    }
}
