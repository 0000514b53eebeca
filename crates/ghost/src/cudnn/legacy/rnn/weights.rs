//! Where weights lie: for each pseudo-layer the input matrices of all gates, the recurrent ones and
//! the projection, without gaps; after the last layer all biases in the same order. Checked against
//! `cudnnGetRNNWeightParams` on an H200 for eleven networks.

use super::network::{Bias, Network};

/// A matrix or a bias inside the weight space, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub offset: u64,
    pub rows: u64,
    pub columns: u64,
}

impl Network {
    fn matrices_of(&self, pseudo_layer: u64) -> u64 {
        let projection = if self.is_projected() { self.output * self.hidden } else { 0 };
        self.cell.gates() * self.hidden * (self.input_of(pseudo_layer) + self.output) + projection
    }

    fn matrices_before(&self, pseudo_layer: u64) -> u64 {
        (0..pseudo_layer).map(|layer| self.matrices_of(layer)).sum()
    }

    /// Bytes of all matrices, without biases.
    pub fn matrix_bytes(&self) -> u64 {
        self.matrices_before(self.pseudo_layers()) * self.element
    }

    /// What `cudnnGetRNNWeightSpaceSize` answers.
    pub fn weight_bytes(&self) -> u64 {
        let biases = self.pseudo_layers() * self.bias.vectors() * self.cell.gates() * self.hidden;
        self.matrix_bytes() + biases * self.element
    }

    /// The matrix number `linear` of a layer: input gates, recurrent gates, then the projection.
    pub fn matrix(&self, pseudo_layer: u64, linear: u64) -> Option<Place> {
        if pseudo_layer >= self.pseudo_layers() {
            return None;
        }
        let (gates, hidden, input) = (self.cell.gates(), self.hidden, self.input_of(pseudo_layer));
        let start = self.matrices_before(pseudo_layer);
        let recurrent = start + gates * hidden * input;
        match linear {
            l if l < gates => Some(Place { offset: start + l * hidden * input, rows: hidden, columns: input }),
            l if l < 2 * gates => {
                let offset = recurrent + (l - gates) * hidden * self.output;
                Some(Place { offset, rows: hidden, columns: self.output })
            }
            l if l == 2 * gates && self.is_projected() => {
                let offset = recurrent + gates * hidden * self.output;
                Some(Place { offset, rows: self.output, columns: hidden })
            }
            _ => None,
        }
    }

    /// The bias of the matrix number `linear`, if it has one.
    pub fn bias(&self, pseudo_layer: u64, linear: u64) -> Option<Place> {
        let gates = self.cell.gates();
        if pseudo_layer >= self.pseudo_layers() || linear >= 2 * gates {
            return None;
        }
        let place = match self.bias {
            Bias::None => None,
            Bias::Both => Some(linear),
            Bias::Input => (linear < gates).then_some(linear),
            Bias::Recurrent => linear.checked_sub(gates),
        }?;
        let vector = pseudo_layer * self.bias.vectors() * gates + place;
        let offset = self.matrices_before(self.pseudo_layers()) + vector * self.hidden;
        Some(Place { offset, rows: self.hidden, columns: 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::{Algorithm, Cell};
    use super::*;

    fn network(bias: Bias, is_bidirectional: bool, output: u64, layers: u64) -> Network {
        Network {
            algorithm: Algorithm::Standard,
            cell: Cell::Lstm,
            bias,
            is_bidirectional,
            data_type: 0,
            element: 4,
            input: 12,
            hidden: 20,
            output,
            layers,
            has_dropout: false,
        }
    }

    #[test]
    fn places_are_those_of_the_card() {
        let plain = network(Bias::Both, true, 20, 2);
        assert_eq!(plain.weight_bytes(), 61_440);
        assert_eq!(plain.matrix(2, 0), Some(Place { offset: 20_480 / 4, rows: 20, columns: 40 }));
        assert_eq!(plain.matrix(2, 7), Some(Place { offset: 38_080 / 4, rows: 20, columns: 20 }));
        assert_eq!(plain.bias(1, 4), Some(Place { offset: 59_840 / 4, rows: 20, columns: 1 }));
        assert_eq!(plain.matrix(0, 8), None);

        let projected = network(Bias::Both, true, 6, 2);
        assert_eq!(projected.weight_bytes(), 27_520);
        assert_eq!(projected.matrix(1, 8), Some(Place { offset: 12_000 / 4, rows: 6, columns: 20 }));
        assert_eq!(projected.bias(3, 7), Some(Place { offset: 27_440 / 4, rows: 20, columns: 1 }));
        assert_eq!(projected.bias(3, 8), None);

        let recurrent = network(Bias::Recurrent, false, 20, 2);
        assert_eq!(recurrent.weight_bytes(), 23_680);
        assert_eq!(recurrent.bias(0, 3), None);
        assert_eq!(recurrent.bias(1, 4), Some(Place { offset: 23_360 / 4, rows: 20, columns: 1 }));
        assert_eq!(network(Bias::None, false, 20, 1).weight_bytes(), 10_240);
    }

    #[test]
    fn parameters_fill_the_space_without_overlap() {
        let network = network(Bias::Both, true, 6, 3);
        let mut places: Vec<Place> = (0..network.pseudo_layers())
            .flat_map(|layer| (0..9).flat_map(move |l| [network.matrix(layer, l), network.bias(layer, l)]))
            .flatten()
            .collect();
        places.sort_by_key(|place| place.offset);
        let end = places.iter().fold(0, |end, place| {
            assert_eq!(place.offset, end);
            end + place.rows * place.columns
        });
        assert_eq!(end * network.element, network.weight_bytes());
    }
}
