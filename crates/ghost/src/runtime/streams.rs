//! Streams, events and their part in graph capture.
//!
//! Work on a ghost is done when it is asked for, so waiting is over at once. Capture is followed as
//! far as programs look: a stream that captures says so, and an event recorded there draws the
//! streams that wait for it into the same capture.

use super::*;
use crate::answer::fresh_handle;
use crate::fill::put;
use crate::{hand_out, succeed};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard};

#[derive(Default)]
struct Captures {
    /// Stream or event handle to the capture it takes part in.
    by_handle: HashMap<usize, u64>,
}

static CAPTURES: LazyLock<Mutex<Captures>> = LazyLock::new(Mutex::default);
static NEXT_CAPTURE: AtomicU64 = AtomicU64::new(1);

fn captures() -> MutexGuard<'static, Captures> {
    CAPTURES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

hand_out! {
    cudaStreamCreate: 0 cudaStreamCreateWithFlags: 0 cudaStreamCreateWithPriority: 0
    cudaEventCreate: 0 cudaEventCreateWithFlags: 0
}

succeed! {
    cudaStreamQuery cudaStreamSynchronize cudaStreamAttachMemAsync cudaStreamSetAttribute
    cudaEventQuery cudaEventSynchronize cudaStreamGetAttribute cudaCtxResetPersistingL2Cache
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamDestroy(stream: usize) -> i32 {
    captures().by_handle.remove(&stream);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventDestroy(event: usize) -> i32 {
    captures().by_handle.remove(&event);
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetPriority(_stream: usize, out: *mut i32) -> i32 {
    unsafe { put(out, 0) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetFlags(_stream: usize, out: *mut u32) -> i32 {
    unsafe { put(out, 0) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetDevice(_stream: usize, out: *mut i32) -> i32 {
    unsafe { put(out, crate::memory::current()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecord(event: usize, stream: usize) -> i32 {
    let mut captures = captures();
    match captures.by_handle.get(&stream).copied() {
        Some(id) => captures.by_handle.insert(event, id),
        None => captures.by_handle.remove(&event),
    };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecordWithFlags(event: usize, stream: usize, _flags: u32) -> i32 {
    cudaEventRecord(event, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamWaitEvent(stream: usize, event: usize, _flags: u32) -> i32 {
    let mut captures = captures();
    if let Some(id) = captures.by_handle.get(&event).copied() {
        captures.by_handle.insert(stream, id);
    }
    SUCCESS
}

/// Any positive time will do: programs that compare timings then keep their first choice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaEventElapsedTime(out: *mut f32, _start: usize, _end: usize) -> i32 {
    unsafe { put(out, 1.0) };
    SUCCESS
}

/// CUDA 12.8's name for the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaEventElapsedTime_v2(out: *mut f32, start: usize, end: usize) -> i32 {
    unsafe { cudaEventElapsedTime(out, start, end) }
}

type HostFunction = extern "C" fn(usize);
type StreamCallback = extern "C" fn(usize, i32, usize);

/// Host functions run when the stream reaches them, which is now.
#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchHostFunc(_stream: usize, function: HostFunction, data: usize) -> i32 {
    function(data);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamAddCallback(stream: usize, callback: StreamCallback, data: usize, _flags: u32) -> i32 {
    callback(stream, SUCCESS, data);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamBeginCapture(stream: usize, _mode: i32) -> i32 {
    crate::log::call("cudaStreamBeginCapture");
    let id = NEXT_CAPTURE.fetch_add(1, Ordering::Relaxed);
    captures().by_handle.insert(stream, id);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamBeginCaptureToGraph(stream: usize) -> i32 {
    cudaStreamBeginCapture(stream, 0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamEndCapture(stream: usize, graph: *mut usize) -> i32 {
    crate::log::call("cudaStreamEndCapture");
    let mut captures = captures();
    if let Some(id) = captures.by_handle.get(&stream).copied() {
        captures.by_handle.retain(|_, other| *other != id);
    }
    unsafe { put(graph, fresh_handle()) };
    SUCCESS
}

const NOT_CAPTURING: i32 = 0;
const CAPTURING: i32 = 1;

fn status(stream: usize) -> (i32, u64) {
    captures().by_handle.get(&stream).map_or((NOT_CAPTURING, 0), |&id| (CAPTURING, id))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamIsCapturing(stream: usize, out: *mut i32) -> i32 {
    unsafe { put(out, status(stream).0) };
    SUCCESS
}

unsafe fn capture_info(stream: usize, state: *mut i32, id: *mut u64, graph: *mut usize, count: *mut usize) -> i32 {
    let (capturing, capture) = status(stream);
    unsafe {
        put(state, capturing);
        put(id, capture);
        put(graph, capture as usize * 64);
        put(count, 0);
    }
    SUCCESS
}

/// CUDA 12: six arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetCaptureInfo_v2(
    stream: usize,
    state: *mut i32,
    id: *mut u64,
    graph: *mut usize,
    dependencies: *mut usize,
    count: *mut usize,
) -> i32 {
    unsafe {
        put(dependencies, 0);
        capture_info(stream, state, id, graph, count)
    }
}

/// CUDA 12.3: seven arguments, the edges between.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetCaptureInfo_v3(
    stream: usize,
    state: *mut i32,
    id: *mut u64,
    graph: *mut usize,
    dependencies: *mut usize,
    edges: *mut usize,
    count: *mut usize,
) -> i32 {
    unsafe {
        put(dependencies, 0);
        put(edges, 0);
        capture_info(stream, state, id, graph, count)
    }
}

/// CUDA 13 gave the seven-argument form the plain name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetCaptureInfo(
    stream: usize,
    state: *mut i32,
    id: *mut u64,
    graph: *mut usize,
    dependencies: *mut usize,
    edges: *mut usize,
    count: *mut usize,
) -> i32 {
    unsafe { cudaStreamGetCaptureInfo_v3(stream, state, id, graph, dependencies, edges, count) }
}

/// Swaps the thread's capture mode; the ghost knows only one, so the caller gets its own back.
#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadExchangeStreamCaptureMode(_mode: *mut i32) -> i32 {
    SUCCESS
}

succeed! { cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2 }
