//! What an operation graph computes, read from its descriptors.

use super::attention;
use super::convolution::{Convolution, Op};
use super::descriptors::{self, Descriptor, kind};

/// Attributes of a tensor.
const TENSOR_TYPE: i32 = 901;
const TENSOR_DIMENSIONS: i32 = 902;
const TENSOR_STRIDES: i32 = 903;
/// Attributes of a convolution: stride, padding in front.
const STRIDES: i32 = 103;
const PADDINGS: i32 = 105;
/// An operation graph's operations.
const GRAPH_OPERATIONS: i32 = 801;

/// A graph that the ghost knows something about.
pub enum Graph {
    Convolution(Convolution),
    Attention,
    Other,
}

/// One tensor of a graph.
struct Tensor {
    data_type: i32,
    dims: Vec<i64>,
    strides: Vec<i64>,
}

/// The tensor that an operation names in an attribute.
fn tensor(operation: &Descriptor, attribute: i32) -> Option<Tensor> {
    let found = descriptors::get(operation.value(attribute)? as usize)?;
    (found.kind == kind::TENSOR).then(|| Tensor {
        data_type: found.value(TENSOR_TYPE).unwrap_or(0) as i32,
        dims: found.values(TENSOR_DIMENSIONS).to_vec(),
        strides: found.values(TENSOR_STRIDES).to_vec(),
    })
}

/// Reads the graph behind an operation-graph descriptor, while its operations live.
pub fn read(graph: &Descriptor) -> Graph {
    let operations: Vec<Descriptor> =
        graph.values(GRAPH_OPERATIONS).iter().filter_map(|&op| descriptors::get(op as usize)).collect();
    if attention::is_attention(&operations) {
        return Graph::Attention;
    }
    match operations.as_slice() {
        [only] => convolution(only).map_or(Graph::Other, Graph::Convolution),
        _ => Graph::Other,
    }
}

/// Where each kind of convolution keeps its description, filter, input and output.
fn attributes(of: i32) -> Option<(Op, [i32; 4])> {
    match of {
        kind::CONVOLUTION_FORWARD => Some((Op::Forward, [702, 703, 704, 705])),
        kind::CONVOLUTION_DATA_GRADIENT => Some((Op::DataGradient, [708, 709, 710, 711])),
        kind::CONVOLUTION_WEIGHT_GRADIENT => Some((Op::WeightGradient, [714, 715, 716, 717])),
        _ => None,
    }
}

fn convolution(operation: &Descriptor) -> Option<Convolution> {
    let (op, [description, w, x, y]) = attributes(operation.kind)?;
    let description = descriptors::get(operation.value(description)? as usize)?;
    let (w, x, y) = (tensor(operation, w)?, tensor(operation, x)?, tensor(operation, y)?);
    Some(Convolution {
        op,
        channels_last: x.strides.get(1) == Some(&1) && x.dims.get(1) != Some(&1),
        data_type: x.data_type,
        x: x.dims,
        w: w.dims,
        y: y.dims,
        stride: description.values(STRIDES).to_vec(),
        padding: description.values(PADDINGS).to_vec(),
    })
}
