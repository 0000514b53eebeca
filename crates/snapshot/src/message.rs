//! PyTorch's out-of-memory messages, every shape since torch 1.13, with all their numbers.
//!
//! | torch | shape |
//! |---|---|
//! | up to 2.0 | `Tried to allocate A (GPU d; T total capacity; a already allocated; f free; [L allowed; ]R reserved in total by PyTorch)` |
//! | 2.1 | `Tried to allocate A. GPU d has a total capacty of T of which f is free. … Of the allocated memory a is allocated by PyTorch, and u is reserved by PyTorch but unallocated.` |
//! | 2.2 | `capacity`, spelt right |
//! | 2.3 | the device is a raw byte |
//! | 2.4 | `with p allocated in private pools (e.g., CUDA Graphs), ` before `and u is reserved` |
//! | 2.5 | `L allowed; ` before `Of the allocated memory` |
//! | 2.12 | `Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: A` |
//! | `cudaMallocAsync` | `Allocation on device d would exceed allowed memory. (out of memory)`, then a line per number |
//!
//! (`c10/cuda/CUDACachingAllocator.cpp` and `CUDAMallocAsyncAllocator.cpp` of these versions.) Errors of other libraries
//! have no numbers. Everything is read in one pass over words, without backtracking, so that no text is slow.

mod cursor;
mod numbers;
mod others;
mod size;

use trace::{OomMessage, Refuser};

pub use size::size;

use cursor::Cursor;

/// No message is longer: a process clause takes 50 bytes, and a machine has hundreds of processes at most.
pub const LONGEST: usize = 16 * 1024;

/// Reads the message that begins at the start of `text`, whatever follows it. White space of any kind and length is
/// one space, so that wrapped lines do not matter.
pub fn parse(text: &str) -> Option<OomMessage> {
    let collapsed = collapse(text);
    let (mut message, end) = read(&collapsed)?;
    message.text = collapsed[..end].trim_end().to_owned();
    Some(message)
}

/// The first message anywhere in `text`.
pub fn find(text: &str) -> Option<OomMessage> {
    let starts = BEGINNINGS.iter().flat_map(|beginning| text.match_indices(beginning));
    let mut starts: Vec<usize> = starts.map(|(at, _)| at).collect();
    starts.sort_unstable();
    // A text made of beginnings has no message.
    starts.into_iter().take(64).find_map(|at| parse(&text[at..]))
}

/// How messages begin, whoever wrote them.
pub const BEGINNINGS: &[&str] = &[
    "CUDA out of memory",
    "HIP out of memory",
    "Allocation on device ",
    "CUDA error: ",
    "HIP error: ",
    "CUDA driver error: ",
    "Triton Error [CUDA]: ",
    "Triton Error [HIP]: ",
    "cuDNN error: ",
    "MIOpen Error: ",
    "Cuda failure ",
    "HIP failure ",
];

fn read(text: &str) -> Option<(OomMessage, usize)> {
    let mut cursor = Cursor::new(text);
    if cursor.skip("CUDA out of memory") || cursor.skip("HIP out of memory") {
        return Some(of_the_allocator(cursor));
    }
    others::read(text)
}

fn of_the_allocator(mut cursor: Cursor) -> (OomMessage, usize) {
    let mut message = OomMessage::default();
    cursor.skip(".");
    let end = cursor.at();
    if cursor.skip("Tried to allocate more than 1EB memory.") {
        message.refuser = Refuser::TooLarge;
        return (message, cursor.at());
    }
    if cursor.skip("Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit.") {
        message.refuser = Refuser::Policy;
        message.requested = cursor.skip("Requested size: ").then(|| cursor.size_or_bytes()).flatten();
        return (message, cursor.at());
    }
    if !cursor.skip("Tried to allocate ") {
        return (message, end);
    }
    message.requested = cursor.size();
    let end = numbers::read(&mut cursor, &mut message);
    (message, end)
}

/// Runs of white space and of box drawing as one space. Control bytes stay: torch 2.3 prints the device as one.
fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST));
    let mut gap = false;
    for c in text.chars() {
        if out.len() >= LONGEST {
            break;
        }
        if is_gap(c) {
            gap = true;
            continue;
        }
        if gap && !out.is_empty() {
            out.push(' ');
        }
        gap = false;
        out.push(c);
    }
    out
}

/// `char::is_whitespace` counts some control bytes that torch 2.3 may print as a device: 9 to 13 are devices too, but
/// no machine has met them, and tabs and newlines are met in every log.
fn is_gap(c: char) -> bool {
    c.is_whitespace() || c == '│' || c == '\u{feff}'
}

#[cfg(test)]
mod tests;
