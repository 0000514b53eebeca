//! What was set on the graph API's descriptors, remembered beside the real library.
//!
//! cuDNN's descriptors cannot be read back before they are finalized, and some questions are answered
//! here instead of there; so every attribute that a program sets is kept by descriptor.

use super::graph::Graph;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

/// `cudnnBackendDescriptorType_t`.
pub mod kind {
    pub const ENGINE: i32 = 2;
    pub const HEURISTICS: i32 = 4;
    pub const PLAN: i32 = 5;
    pub const KNOB_CHOICE: i32 = 7;
    pub const CONVOLUTION_FORWARD: i32 = 10;
    pub const CONVOLUTION_WEIGHT_GRADIENT: i32 = 11;
    pub const CONVOLUTION_DATA_GRADIENT: i32 = 12;
    pub const GRAPH: i32 = 15;
    pub const TENSOR: i32 = 17;
    pub const MATMUL: i32 = 19;
    pub const ATTENTION_FORWARD: i32 = 41;
    pub const ATTENTION_BACKWARD: i32 = 43;
}

/// `cudnnBackendAttributeType_t`.
pub mod value {
    pub const HANDLE: i32 = 0;
    pub const INT64: i32 = 3;
    pub const DESCRIPTOR: i32 = 15;
}

/// Attributes that name a descriptor with a graph: heuristics' graph, engine's graph, configuration's engine, plan's configuration.
const LEADS_TO_GRAPH: [i32; 4] = [201, 1300, 300, 401];

/// One descriptor: its kind and what was set on it.
#[derive(Default, Clone)]
pub struct Descriptor {
    pub kind: i32,
    /// Attribute to its values, widened to 64 bits.
    pub attributes: HashMap<i32, Vec<i64>>,
    /// What the graph that it belongs to computes. Read when the graph is finalized and handed on from
    /// there, because programs destroy operations and graphs before they build the plan.
    pub graph: Option<Arc<Graph>>,
    /// The workspace that a plan asks for, where we say it.
    pub workspace: Option<i64>,
}

impl Descriptor {
    /// An attribute's values; empty if it was never set.
    pub fn values(&self, attribute: i32) -> &[i64] {
        self.attributes.get(&attribute).map_or(&[], Vec::as_slice)
    }

    /// An attribute that holds one value.
    pub fn value(&self, attribute: i32) -> Option<i64> {
        self.values(attribute).first().copied()
    }
}

static DESCRIPTORS: LazyLock<Mutex<HashMap<usize, Descriptor>>> = LazyLock::new(Mutex::default);

fn all() -> MutexGuard<'static, HashMap<usize, Descriptor>> {
    DESCRIPTORS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A descriptor came into being; whatever had this address before is gone.
pub fn created(descriptor: usize, kind: i32) {
    all().insert(descriptor, Descriptor { kind, ..Default::default() });
}

pub fn destroyed(descriptor: usize) {
    all().remove(&descriptor);
}

/// Bytes of one element of an attribute's type.
fn width(kind: i32) -> usize {
    const BOOLEAN: i32 = 2;
    const CHAR: i32 = 24;
    match kind {
        BOOLEAN | CHAR => 1,
        value::HANDLE | value::INT64 | value::DESCRIPTOR | 5 | 6 => 8,
        _ => 4,
    }
}

/// An attribute was set.
///
/// # Safety
/// `values` points to `count` elements of the attribute type `kind`.
pub unsafe fn set(descriptor: usize, attribute: i32, kind: i32, count: i64, values: *const c_void) {
    if values.is_null() {
        return;
    }
    // SAFETY: as the caller promises; elements are read at their own width.
    let widened = (0..count.max(0) as usize).map(|index| unsafe {
        match width(kind) {
            1 => i64::from(values.cast::<u8>().add(index).read()),
            4 => i64::from(values.cast::<i32>().add(index).read_unaligned()),
            _ => values.cast::<i64>().add(index).read_unaligned(),
        }
    });
    let widened: Vec<i64> = widened.collect();
    let mut all = all();
    let inherited = match widened.as_slice() {
        [only] if LEADS_TO_GRAPH.contains(&attribute) => all.get(&(*only as usize)).and_then(|d| d.graph.clone()),
        _ => None,
    };
    if let Some(found) = all.get_mut(&descriptor) {
        found.graph = inherited.or(found.graph.take());
        found.attributes.insert(attribute, widened);
    }
}

/// Says what graph a descriptor belongs to.
pub fn belongs(descriptor: usize, graph: &Arc<Graph>) {
    if let Some(found) = all().get_mut(&descriptor) {
        found.graph = Some(graph.clone());
    }
}

/// Says what a plan asks for.
pub fn asks_for(plan: usize, bytes: i64) {
    if let Some(found) = all().get_mut(&plan) {
        found.workspace = Some(bytes);
    }
}

/// A copy of what is known about a descriptor.
pub fn get(descriptor: usize) -> Option<Descriptor> {
    all().get(&descriptor).cloned()
}
