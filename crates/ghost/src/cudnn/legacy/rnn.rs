//! Recurrent networks: sizes of their spaces, places of their weights, and calls that succeed.

mod network;
mod sizes;
mod weights;

use self::network::{Algorithm, Batch, Bias, Cell, Network};
use self::weights::Place;
use super::real_descriptors::{element_bytes, function, set_packed};
use super::{BAD_PARAM, SUCCESS, dropout};
use crate::fill::put;
use crate::say;
use std::ffi::c_void;

/// What `cudnnSetRNNDescriptor_v8` was given, asked of the real library.
fn network(descriptor: usize) -> Option<Network> {
    type Get = extern "C" fn(
        usize,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut usize,
        *mut u32,
    ) -> i32;
    // SAFETY: the documented signature.
    let get: Get = unsafe { function(c"cudnnGetRNNDescriptor_v8") }?;
    let (mut algorithm, mut cell, mut bias, mut direction, mut input_mode) = (0, 0, 0, 0, 0);
    let (mut data_type, mut precision, mut math) = (0, 0, 0);
    let (mut input, mut hidden, mut output, mut layers) = (0, 0, 0, 0);
    let (mut dropout, mut flags) = (0, 0);
    let status = get(
        descriptor,
        &mut algorithm,
        &mut cell,
        &mut bias,
        &mut direction,
        &mut input_mode,
        &mut data_type,
        &mut precision,
        &mut math,
        &mut input,
        &mut hidden,
        &mut output,
        &mut layers,
        &mut dropout,
        &mut flags,
    );
    (status == SUCCESS && layers > 0).then(|| Network {
        algorithm: Algorithm::of(algorithm),
        cell: Cell::of(cell),
        bias: Bias::of(bias),
        is_bidirectional: direction == 1,
        data_type,
        element: element_bytes(data_type),
        input: input as u64,
        hidden: hidden as u64,
        output: output as u64,
        layers: layers as u64,
        has_dropout: dropout::drops(dropout),
    })
}

/// What `cudnnSetRNNDataDescriptor` was given, asked of the real library.
fn batch(descriptor: usize) -> Option<Batch> {
    type Get =
        extern "C" fn(usize, *mut i32, *mut i32, *mut i32, *mut i32, *mut i32, i32, *mut i32, *mut c_void) -> i32;
    const PACKED: i32 = 1;
    // SAFETY: the documented signature.
    let get: Get = unsafe { function(c"cudnnGetRNNDataDescriptor") }?;
    let (mut data_type, mut layout, mut steps, mut sequences, mut width) = (0, 0, 0, 0, 0);
    let mut fill = 0_u64; // as wide as the widest element
    let mut ask = |lengths: &mut [i32]| {
        let room = lengths.len() as i32;
        let fill = (&raw mut fill).cast();
        let lengths = lengths.as_mut_ptr();
        get(descriptor, &mut data_type, &mut layout, &mut steps, &mut sequences, &mut width, room, lengths, fill);
        (layout, steps, sequences)
    };
    let (layout, steps, sequences) = ask(&mut []);
    if steps <= 0 || sequences <= 0 {
        return None;
    }
    let is_packed = layout == PACKED;
    let mut lengths = vec![steps; sequences as usize];
    if is_packed {
        ask(&mut lengths);
    }
    let vectors = lengths.iter().map(|&length| length as u64).sum();
    Some(Batch { sequences: sequences as u64, steps: steps as u64, vectors, is_packed })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetRNNWeightSpaceSize(_handle: usize, descriptor: usize, out: *mut usize) -> i32 {
    let Some(network) = network(descriptor) else { return BAD_PARAM };
    // SAFETY: null or the caller's to be written.
    unsafe { put(out, network.weight_bytes() as usize) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetRNNTempSpaceSizes(
    _handle: usize,
    descriptor: usize,
    forward_mode: i32,
    data: usize,
    workspace: *mut usize,
    reserve: *mut usize,
) -> i32 {
    const TRAINING: i32 = 1;
    let (Some(network), Some(batch)) = (network(descriptor), batch(data)) else { return BAD_PARAM };
    let is_training = forward_mode == TRAINING;
    let work = sizes::workspace(&network, &batch, is_training);
    let kept = if is_training { sizes::reserve(&network, &batch) } else { 0 };
    say!("cudnnGetRNNTempSpaceSizes {network:?} {batch:?} training {is_training} -> {work}, {kept}");
    // SAFETY: null or the caller's to be written.
    unsafe {
        put(workspace, work as usize);
        put(reserve, kept as usize);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetRNNWeightParams(
    _handle: usize,
    descriptor: usize,
    pseudo_layer: i32,
    _space_bytes: usize,
    space: usize,
    linear: i32,
    matrix: usize,
    matrix_address: *mut usize,
    bias: usize,
    bias_address: *mut usize,
) -> i32 {
    let Some(network) = network(descriptor) else { return BAD_PARAM };
    let (layer, linear) = (pseudo_layer.max(0) as u64, linear.max(0) as u64);
    // SAFETY: both addresses are null or the caller's to be written.
    unsafe {
        tell(&network, space, network.matrix(layer, linear), matrix, matrix_address);
        tell(&network, space, network.bias(layer, linear), bias, bias_address);
    }
    SUCCESS
}

/// Writes where a parameter lies and what it looks like; one that is not there has no address.
///
/// # Safety
/// `address` is null or writable.
unsafe fn tell(network: &Network, space: usize, place: Option<Place>, descriptor: usize, address: *mut usize) {
    let at = place.map_or(0, |place| space + (place.offset * network.element) as usize);
    // SAFETY: as the caller promises.
    unsafe { put(address, at) };
    if let Some(place) = place {
        set_packed(descriptor, network.data_type, [1, place.rows as i32, place.columns as i32]);
    }
}

crate::succeed! { cudnnRNNForward cudnnRNNBackwardData_v8 cudnnRNNBackwardWeights_v8 cudnnBuildRNNDynamic }
