//! Errors of who else can run out of device memory. Only the `cudaMallocAsync` backend prints numbers.

use trace::{OomMessage, Refuser};

use super::cursor::Cursor;

pub fn read(text: &str) -> Option<(OomMessage, usize)> {
    of_cuda_malloc_async(text).or_else(|| without_numbers(text))
}

/// `Allocation on device 0 would exceed allowed memory. (out of memory)`, and the lines below it.
fn of_cuda_malloc_async(text: &str) -> Option<(OomMessage, usize)> {
    let mut cursor = Cursor::new(text);
    if !cursor.skip("Allocation on device ") {
        return None;
    }
    let mut message = OomMessage { refuser: Refuser::AsyncAllocator, gpu: cursor.device(), ..OomMessage::default() };
    if !cursor.skip("would exceed allowed memory.") {
        return None;
    }
    cursor.skip("(out of memory)");
    let mut row = |words: &str| if cursor.skip(words) { cursor.size() } else { None };
    message.allocated = row("Currently allocated :");
    message.requested = row("Requested :");
    message.total = row("Device limit :");
    message.free = row("Free (according to CUDA):");
    message.allowed = row("PyTorch limit (set by user-supplied memory fraction) :");
    Some((message, cursor.at()))
}

/// What each library says when memory is short. `NOT_INITIALIZED` is what cuBLAS and cuDNN say when the handle itself
/// did not fit; it has rarer causes too.
const SHORT: &[(&str, Refuser)] = &[
    ("out of memory", Refuser::Cuda),
    ("CUBLAS_STATUS_ALLOC_FAILED", Refuser::Cublas),
    ("CUBLAS_STATUS_NOT_INITIALIZED", Refuser::Cublas),
    ("HIPBLAS_STATUS_ALLOC_FAILED", Refuser::Cublas),
    ("HIPBLAS_STATUS_NOT_INITIALIZED", Refuser::Cublas),
    ("CUDNN_STATUS_ALLOC_FAILED", Refuser::Cudnn),
    ("CUDNN_STATUS_NOT_INITIALIZED", Refuser::Cudnn),
    ("miopenStatusAllocFailed", Refuser::Cudnn),
    ("CUSOLVER_STATUS_ALLOC_FAILED", Refuser::Cuda),
    ("CUSPARSE_STATUS_ALLOC_FAILED", Refuser::Cuda),
    ("CUFFT_ALLOC_FAILED", Refuser::Cuda),
];

const SPEAKERS: &[&str] = &[
    "CUDA error: ",
    "HIP error: ",
    "CUDA driver error: ",
    "Triton Error [CUDA]: ",
    "Triton Error [HIP]: ",
    "cuDNN error: ",
    "MIOpen Error: ",
];

fn without_numbers(text: &str) -> Option<(OomMessage, usize)> {
    let mut cursor = Cursor::new(text);
    if cursor.skip("Cuda failure ") || cursor.skip("HIP failure ") {
        // NCCL: `Cuda failure 2 'out of memory'`; older ones leave the number out.
        cursor.number();
        let found = cursor.skip("'out of memory'");
        return found.then(|| (of(Refuser::Nccl), cursor.at()));
    }
    SPEAKERS.iter().find(|speaker| cursor.skip(speaker))?;
    let &(_, refuser) = SHORT.iter().find(|(words, _)| cursor.skip(words))?;
    Some((of(refuser), cursor.at()))
}

fn of(refuser: Refuser) -> OomMessage {
    OomMessage { refuser, ..OomMessage::default() }
}
