//! How much memory a recurrent network wants beside its weights.
//!
//! Fitted to 26,307 combinations of network and batch that `cudnnGetRNNTempSpaceSizes` answered on an
//! H200 (cuDNN 9.19): all cells, algorithms, float types, one or two directions, 1 to 20 layers,
//! projections, dropout, padded and packed. Every one of them comes out to the byte. What each
//! buffer is for is a guess from its size; other cards and versions are assumed to be alike.

use super::network::{Algorithm, Batch, Cell, Network};

/// Each layer and direction runs on a stream of its own, with room for its matrix products.
const STREAM_BYTES: u64 = 8 << 20;
/// The head of either space.
const HEAD_BYTES: u64 = 256;
/// Buffers begin at multiples of this.
const ALIGNMENT: u64 = 32;
/// One direction without a persistent kernel goes forward in parts of so many steps.
const STEPS_AT_ONCE: u64 = 256;

fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

/// What training keeps from forward to backward: `reserveSpaceSize`.
pub fn reserve(network: &Network, batch: &Batch) -> u64 {
    let all_layers = network.pseudo_layers() * batch.vectors;
    let buffer = |elements: u64| aligned(elements * network.element);
    let cells = match network.cell {
        Cell::Plain => buffer(network.hidden * all_layers),
        Cell::Lstm => buffer(4 * network.hidden * all_layers) + buffer(network.hidden * all_layers),
        Cell::Gru => buffer(6 * network.hidden * all_layers),
    };
    let projections = if network.is_projected() {
        buffer(network.hidden * all_layers) + buffer(network.output * all_layers)
    } else {
        0
    };
    let between_layers = (network.layers - 1) * network.directions();
    let outputs = buffer(between_layers * network.hidden * batch.vectors);
    aligned(HEAD_BYTES + cells + projections + outputs + between_layers * mask(network, batch))
}

/// A bit for each place of a layer's output, padding included.
fn mask(network: &Network, batch: &Batch) -> u64 {
    if !network.has_dropout {
        return 0;
    }
    let places = network.directions() * network.output * batch.sequences * batch.steps;
    aligned(places.div_ceil(8))
}

/// What a call wants for itself: `workSpaceSize`. Training asks for the larger of its two directions.
pub fn workspace(network: &Network, batch: &Batch, is_training: bool) -> u64 {
    let work = Work { network, batch };
    let forward = work.forward() + work.padding();
    let backward = work.backward() + 2 * work.padding();
    let needed = if is_training { forward.max(backward) } else { forward };
    let lengths = if batch.is_packed { 0 } else { aligned(8 * batch.sequences) };
    network.pseudo_layers() * STREAM_BYTES + HEAD_BYTES + aligned(network.matrix_bytes()) + lengths + needed
}

struct Work<'a> {
    network: &'a Network,
    batch: &'a Batch,
}

impl Work<'_> {
    /// Elements rounded up to whole buffers, in bytes.
    fn buffer(&self, elements: u64) -> u64 {
        aligned(elements * self.network.element)
    }

    /// A buffer of hidden vectors.
    fn hidden(&self, each: u64) -> u64 {
        self.buffer(each * self.network.hidden * self.batch.vectors)
    }

    /// A buffer of hidden states of all layers at one step.
    fn states(&self, each: u64) -> u64 {
        self.buffer(each * self.network.hidden * self.batch.sequences * self.network.layers)
    }

    /// Persistent kernels exist for float and half; with bfloat16 and double the library falls back.
    fn is_persistent(&self) -> bool {
        const FLOAT: i32 = 0;
        const HALF: i32 = 2;
        self.network.algorithm != Algorithm::Standard && matches!(self.network.data_type, FLOAT | HALF)
    }

    fn forward(&self) -> u64 {
        let (gates, directions) = (self.network.cell.gates(), self.network.directions());
        let mut bytes = self.gate_vectors() + self.projected() + self.cell_states();
        if self.is_persistent() {
            bytes += self.hidden(4 * gates) + self.states(2);
        } else {
            bytes += self.states(directions * gates);
        }
        if self.network.is_bidirectional {
            bytes += self.hidden(4) + self.states(4);
        } else if self.network.has_dropout {
            bytes += self.hidden(1);
        }
        bytes
    }

    fn gate_vectors(&self) -> u64 {
        let gates = self.network.cell.gates();
        if self.network.is_bidirectional || self.is_persistent() {
            return self.hidden(self.network.directions() * gates);
        }
        self.buffer(gates * self.network.hidden * self.batch.within(STEPS_AT_ONCE))
    }

    fn backward(&self) -> u64 {
        let widest = self.network.input.max(self.network.hidden) * self.batch.vectors;
        let is_deep = self.network.layers > 1;
        let layers = if is_deep { 2 } else { 1 };
        let mut bytes = self.projected() + self.cell_states();
        if self.network.is_bidirectional {
            bytes += self.buffer(4 * widest) + self.hidden(2 * layers) + self.states(2) + self.states(4);
        } else if self.is_persistent() {
            bytes += self.buffer(widest) + self.hidden(layers) + self.states(2);
        } else {
            bytes += self.buffer(widest) + self.wavefront() + self.states(1);
        }
        if self.is_persistent() {
            bytes += self.persistent_gradients();
        }
        bytes
    }

    fn persistent_gradients(&self) -> u64 {
        let each = match self.network.cell {
            Cell::Plain => 1,
            Cell::Lstm => 4,
            Cell::Gru => 6,
        };
        let tiles = self.hidden(8);
        if self.network.algorithm != Algorithm::PersistStatic {
            return self.hidden(each) + tiles;
        }
        let least = aligned(self.network.hidden * (4864 + 2 * self.batch.sequences));
        self.hidden(each) + tiles.max(least)
    }

    /// Layers run behind each other, some steps apart: gradients are kept for the steps in between.
    fn wavefront(&self) -> u64 {
        if self.network.layers == 1 {
            return self.hidden(1);
        }
        let apart = match self.batch.sequences {
            1 => 32,
            2..=8 => 16,
            9..=16 => 8,
            // Measured: 4 at 96, 2 at 98.
            17..=96 if self.batch.steps < 128 => 4,
            _ if self.batch.steps < 128 => 2,
            _ => 8,
        };
        let steps = apart * self.network.layers + apart.max(8);
        self.buffer(self.network.hidden * self.batch.within(steps))
    }

    /// Outputs before their projection.
    fn projected(&self) -> u64 {
        if self.network.is_projected() { self.hidden(self.network.directions()) } else { 0 }
    }

    fn cell_states(&self) -> u64 {
        if self.network.cell == Cell::Lstm { self.states(2 * self.network.directions()) } else { 0 }
    }

    /// Padded batches are packed on the way in and unpacked on the way out: input, output, and the
    /// states before and after.
    fn padding(&self) -> u64 {
        if self.batch.is_packed {
            return 0;
        }
        let directions = self.network.directions();
        let output = directions * self.network.output;
        let places = self.batch.sequences * self.network.layers;
        let cell = if self.network.cell == Cell::Lstm { self.states(directions) } else { 0 };
        self.buffer(self.network.input * self.batch.vectors)
            + self.buffer(output * self.batch.vectors)
            + 2 * (self.buffer(output * places) + cell)
    }
}

#[cfg(test)]
#[path = "sizes_tests.rs"]
mod tests;
