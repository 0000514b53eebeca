//! A recurrent network as its descriptor tells it, and a batch of sequences.

/// The kind of cell, by how many gates it computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    /// Tanh or ReLU.
    Plain,
    Lstm,
    Gru,
}

impl Cell {
    /// From `cudnnRNNMode_t`.
    pub fn of(mode: i32) -> Cell {
        match mode {
            2 => Cell::Lstm,
            3 => Cell::Gru,
            _ => Cell::Plain,
        }
    }

    pub fn gates(self) -> u64 {
        match self {
            Cell::Plain => 1,
            Cell::Lstm => 4,
            Cell::Gru => 3,
        }
    }
}

/// Which of a cell's matrices have biases (`cudnnRNNBiasMode_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bias {
    None,
    Input,
    Both,
    Recurrent,
}

impl Bias {
    pub fn of(mode: i32) -> Bias {
        match mode {
            0 => Bias::None,
            1 => Bias::Input,
            3 => Bias::Recurrent,
            _ => Bias::Both,
        }
    }

    /// How many vectors there are for each gate.
    pub fn vectors(self) -> u64 {
        match self {
            Bias::None => 0,
            Bias::Input | Bias::Recurrent => 1,
            Bias::Both => 2,
        }
    }
}

/// `cudnnRNNAlgo_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    Standard,
    PersistStatic,
    PersistSmall,
}

impl Algorithm {
    pub fn of(number: i32) -> Algorithm {
        match number {
            1 | 2 => Algorithm::PersistStatic,
            3 => Algorithm::PersistSmall,
            _ => Algorithm::Standard,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub algorithm: Algorithm,
    pub cell: Cell,
    pub bias: Bias,
    pub is_bidirectional: bool,
    /// `cudnnDataType_t` of activations and weights.
    pub data_type: i32,
    /// Bytes of one element.
    pub element: u64,
    pub input: u64,
    pub hidden: u64,
    /// What an LSTM's output is projected to; `hidden` without a projection.
    pub output: u64,
    pub layers: u64,
    pub has_dropout: bool,
}

impl Network {
    pub fn directions(&self) -> u64 {
        if self.is_bidirectional { 2 } else { 1 }
    }

    pub fn is_projected(&self) -> bool {
        self.output != self.hidden
    }

    /// Layers in each direction, counted as cuDNN does: both directions of a layer follow each other.
    pub fn pseudo_layers(&self) -> u64 {
        self.layers * self.directions()
    }

    /// What flows into a pseudo-layer.
    pub fn input_of(&self, pseudo_layer: u64) -> u64 {
        if pseudo_layer < self.directions() { self.input } else { self.output * self.directions() }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub sequences: u64,
    /// Of the longest sequence.
    pub steps: u64,
    /// Vectors in all: the sum of all lengths when packed, every place when padded.
    pub vectors: u64,
    pub is_packed: bool,
}

impl Batch {
    /// Vectors in the first `steps` steps, at most.
    pub fn within(&self, steps: u64) -> u64 {
        self.vectors.min(self.sequences * steps)
    }
}
