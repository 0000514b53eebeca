//! The graph API, passed on with a described device instead of a handle.
//!
//! Two kinds of graphs do not reach the real library's plan builder: attention, whose plans need a
//! card, and everything under a cuDNN that cannot describe a device (before 9.8). Their plans are
//! ours: they always build, and their workspace is known or derived.

use super::convolution::{self, Choice, Convolution};
use super::descriptors::{self, kind, value};
use super::graph::{self, Graph};
use super::{attention, derived, devprop, real};
use crate::fill::put;
use crate::{card, say};
use std::ffi::c_void;
use std::sync::Arc;

/// Which attribute of a descriptor names the device it is for.
const DEVICE_ATTRIBUTE: [(i32, i32); 3] = [(kind::ENGINE, 1307), (kind::HEURISTICS, 204), (kind::PLAN, 407)];

const HEURISTICS_RESULTS: i32 = 202;
const CONFIG_ENGINE: i32 = 300;
const CONFIG_KNOBS: i32 = 302;
const PLAN_CONFIG: i32 = 401;
const PLAN_WORKSPACE: i32 = 402;
const KNOB_KIND: i32 = 600;
const KNOB_VALUE: i32 = 601;
const ENGINE_INDEX: i32 = 1301;

const SUCCESS: i32 = 0;
const NOT_SUPPORTED: i32 = 3000;

/// Whether the real library answers for the described device.
fn describes_devices() -> bool {
    devprop::descriptor().is_some()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnBackendCreateDescriptor(of: i32, out: *mut usize) -> i32 {
    let Some(real) = real::backend() else { return NOT_SUPPORTED };
    let status = (real.create)(of, out);
    if status != SUCCESS {
        return status;
    }
    // SAFETY: the real library wrote the new descriptor there.
    let made = unsafe { *out };
    descriptors::created(made, of);
    describe_device(real, made, of);
    SUCCESS
}

fn describe_device(real: &real::Backend, made: usize, of: i32) {
    if let Some((_, attribute)) = DEVICE_ATTRIBUTE.iter().find(|(kind, _)| *kind == of)
        && let Some(device) = devprop::descriptor()
    {
        (real.set)(made, *attribute, value::DESCRIPTOR, 1, (&raw const device).cast());
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudnnBackendDestroyDescriptor(descriptor: usize) -> i32 {
    descriptors::destroyed(descriptor);
    real::backend().map_or(SUCCESS, |real| (real.destroy)(descriptor))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnBackendSetAttribute(
    descriptor: usize,
    attribute: i32,
    of: i32,
    count: i64,
    values: *const c_void,
) -> i32 {
    // A handle would lead to a device; the description stands in for it.
    if of == value::HANDLE {
        return SUCCESS;
    }
    // SAFETY: the graph API's contract: `count` elements of the type `of`.
    unsafe { descriptors::set(descriptor, attribute, of, count, values) };
    let Some(real) = real::backend() else { return NOT_SUPPORTED };
    let status = (real.set)(descriptor, attribute, of, count, values);
    if describes_devices() { status } else { SUCCESS }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnBackendGetAttribute(
    descriptor: usize,
    attribute: i32,
    of: i32,
    room: i64,
    count: *mut i64,
    values: *mut c_void,
) -> i32 {
    let known = descriptors::get(descriptor).unwrap_or_default();
    if attribute == PLAN_WORKSPACE
        && let Some(workspace) = known.workspace
    {
        unsafe {
            put(count, 1);
            put(values.cast(), workspace);
        }
        return SUCCESS;
    }
    let Some(real) = real::backend() else { return NOT_SUPPORTED };
    if !describes_devices() {
        return unsafe { answer_alone(&known, attribute, room, count, values) };
    }
    let status = (real.get)(descriptor, attribute, of, room, count, values);
    if attribute == HEURISTICS_RESULTS && status == SUCCESS && !values.is_null() && !count.is_null() {
        let given = unsafe { *count }.clamp(0, room) as usize;
        // SAFETY: the library filled that many descriptors.
        let configs = unsafe { std::slice::from_raw_parts(values.cast::<usize>(), given) };
        remember_graph(&known, configs);
    }
    status
}

fn remember_graph(heuristics: &descriptors::Descriptor, configs: &[usize]) {
    let Some(graph) = &heuristics.graph else { return };
    for &config in configs {
        descriptors::belongs(config, graph);
    }
}

/// Without a description there is one configuration, and nothing more is known of it.
unsafe fn answer_alone(
    known: &descriptors::Descriptor,
    attribute: i32,
    room: i64,
    count: *mut i64,
    values: *mut c_void,
) -> i32 {
    let is_list = known.kind == kind::HEURISTICS && attribute == HEURISTICS_RESULTS;
    unsafe { put(count, i64::from(is_list)) };
    if is_list && room > 0 && !values.is_null() {
        // SAFETY: the caller laid descriptors ready to be filled.
        remember_graph(known, &[unsafe { *values.cast::<usize>() }]);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudnnBackendFinalize(descriptor: usize) -> i32 {
    let Some(real) = real::backend() else { return NOT_SUPPORTED };
    let known = descriptors::get(descriptor).unwrap_or_default();
    if known.kind == kind::PLAN {
        return finalize_plan(real, descriptor, &known);
    }
    if known.kind == kind::GRAPH {
        descriptors::belongs(descriptor, &Arc::new(graph::read(&known)));
    }
    let status = (real.finalize)(descriptor);
    if describes_devices() { status } else { SUCCESS }
}

fn finalize_plan(real: &real::Backend, plan: usize, known: &descriptors::Descriptor) -> i32 {
    let workspace = match known.graph.as_deref().unwrap_or(&Graph::Other) {
        Graph::Attention => Ok(attention::WORKSPACE),
        Graph::Convolution(conv) if !describes_devices() => Ok(derived::workspace(conv)),
        Graph::Convolution(conv) => planned(real, plan, known.value(PLAN_CONFIG).unwrap_or(0) as usize, conv),
        Graph::Other if !describes_devices() => Ok(0),
        Graph::Other => built(real, plan),
    };
    match workspace {
        Ok(bytes) => {
            descriptors::asks_for(plan, bytes);
            SUCCESS
        }
        Err(status) => status,
    }
}

/// Lets the real library build the plan, and returns the workspace it asks for.
fn built(real: &real::Backend, plan: usize) -> Result<i64, i32> {
    let status = (real.finalize)(plan);
    if status != SUCCESS {
        return Err(status);
    }
    Ok(number(real, plan, PLAN_WORKSPACE).unwrap_or(0))
}

fn planned(real: &real::Backend, plan: usize, config: usize, conv: &Convolution) -> Result<i64, i32> {
    let bytes = built(real, plan)?;
    let choice = Choice { engine: engine_index(real, config), knobs: knobs(real, config), workspace: bytes as u64 };
    let card = card::card();
    let on_card = if convolution::holds_for(real::version()) {
        convolution::workspace(conv, &choice, card.multiprocessors(), (card.major, card.minor))
    } else {
        choice.workspace
    };
    say!("cudnn {conv:?} {choice:?} -> {on_card}");
    Ok(on_card as i64)
}

/// Reads a 64-bit attribute.
fn number(real: &real::Backend, descriptor: usize, attribute: i32) -> Option<i64> {
    let (mut count, mut found) = (0, 0_i64);
    let status = (real.get)(descriptor, attribute, value::INT64, 1, &mut count, (&raw mut found).cast());
    (status == SUCCESS && count == 1).then_some(found)
}

/// Makes `room` descriptors for the library to fill, and destroys them after `read` looked at them.
fn with_filled<T>(
    real: &real::Backend,
    owner: usize,
    attribute: i32,
    of: i32,
    room: usize,
    read: impl FnOnce(&[usize]) -> T,
) -> T {
    let mut made = vec![0_usize; room];
    for slot in &mut made {
        (real.create)(of, slot);
        describe_device(real, *slot, of);
    }
    let mut count = 0;
    let status = (real.get)(owner, attribute, value::DESCRIPTOR, room as i64, &mut count, made.as_mut_ptr().cast());
    let given = if status == SUCCESS { count.clamp(0, room as i64) as usize } else { 0 };
    let answer = read(&made[..given]);
    for slot in made {
        (real.destroy)(slot);
    }
    answer
}

fn engine_index(real: &real::Backend, config: usize) -> i64 {
    with_filled(real, config, CONFIG_ENGINE, kind::ENGINE, 1, |engines| {
        engines.first().and_then(|&engine| number(real, engine, ENGINE_INDEX)).unwrap_or(-1)
    })
}

fn knobs(real: &real::Backend, config: usize) -> Vec<(i32, i64)> {
    const MOST: usize = 48;
    with_filled(real, config, CONFIG_KNOBS, kind::KNOB_CHOICE, MOST, |choices| {
        choices
            .iter()
            .filter_map(|&choice| Some((knob_kind(real, choice)?, number(real, choice, KNOB_VALUE)?)))
            .collect()
    })
}

fn knob_kind(real: &real::Backend, choice: usize) -> Option<i32> {
    const TYPE_KNOB: i32 = 9;
    let (mut count, mut found) = (0, 0_i32);
    let status = (real.get)(choice, KNOB_KIND, TYPE_KNOB, 1, &mut count, (&raw mut found).cast());
    (status == SUCCESS && count == 1).then_some(found)
}

crate::succeed! { cudnnBackendExecute }
