//! What the words of an error alone can say. The texts are PyTorch's, of several versions.

use explain::{Cause, Evidence, explain};
use trace::{CodeLine, Crash};

const HINT: &str =
    "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";

fn crash(text: &str) -> Crash {
    Crash { message: snapshot::message::find(text).expect("it is such a message"), ..Crash::default() }
}

fn verdict(crash: &Crash) -> (Cause, f64) {
    let explanation = explain(&Evidence { crash: Some(crash), ..Evidence::default() });
    (explanation.verdict.cause, explanation.verdict.confidence)
}

fn cause(text: &str) -> Cause {
    verdict(&crash(text)).0
}

#[test]
fn other_processes_are_seen_in_the_list() {
    let text = format!(
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.06 GiB is free. \
         Process 4711 has 18.20 GiB memory in use. Including non-PyTorch memory, this process has 4.41 GiB memory in use. Of \
         the allocated memory 3.90 GiB is allocated by PyTorch, and 60.00 MiB is reserved by PyTorch but unallocated. {HINT}"
    );
    assert_eq!(cause(&text), Cause::OtherProcess);
}

#[test]
fn memory_that_nobody_lists_is_somebodys() {
    let text = "CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 15.90 GiB total capacity; 2.10 GiB already \
                allocated; 400.00 MiB free; 2.20 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory \
                try setting max_split_size_mb to avoid fragmentation.";
    assert_eq!(cause(text), Cause::OtherProcess);
}

#[test]
fn others_do_not_matter_under_a_limit_of_ones_own() {
    let text = format!(
        "CUDA out of memory. Tried to allocate 36.00 MiB. GPU 0 has a total capacity of 139.80 GiB of which 103.73 GiB is \
         free. Including non-PyTorch memory, this process has 8.70 GiB memory in use. Process 741 has 26.90 GiB memory in \
         use. 8.00 GiB allowed; Of the allocated memory 7.84 GiB is allocated by PyTorch, and 132.66 MiB is reserved by \
         PyTorch but unallocated. {HINT}"
    );
    assert_eq!(cause(&text), Cause::Unknown);
}

#[test]
fn a_large_rest_of_ones_own_is_outside_the_allocator() {
    let text = format!(
        "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 3 has a total capacity of 79.10 GiB of which 500.00 MiB is \
         free. Including non-PyTorch memory, this process has 78.50 GiB memory in use. Of the allocated memory 58.00 GiB is \
         allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated. {HINT}"
    );
    assert_eq!(cause(&text), Cause::OutsideAllocator);
}

#[test]
fn errors_that_are_not_the_allocators() {
    for text in [
        "RuntimeError: CUDA error: out of memory",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ] {
        assert_eq!(cause(text), Cause::OutsideAllocator, "{text}");
    }
}

#[test]
fn holes_show_as_reserved_and_unused() {
    let text = format!(
        "CUDA out of memory. Tried to allocate 2.98 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.00 GiB is free. \
         Including non-PyTorch memory, this process has 22.60 GiB memory in use. Of the allocated memory 14.20 GiB is \
         allocated by PyTorch, and 7.90 GiB is reserved by PyTorch but unallocated. {HINT}"
    );
    assert_eq!(cause(&text), Cause::Fragmentation);
}

#[test]
fn private_pools_are_named() {
    let text = format!(
        "CUDA out of memory. Tried to allocate 2.98 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.00 GiB is free. \
         Including non-PyTorch memory, this process has 22.60 GiB memory in use. Of the allocated memory 21.20 GiB is \
         allocated by PyTorch, with 9.00 GiB allocated in private pools (e.g., CUDA Graphs), and 190.00 MiB is reserved by \
         PyTorch but unallocated. {HINT}"
    );
    assert_eq!(cause(&text), Cause::CacheHeld);
}

#[test]
fn a_traceback_gives_a_guess_and_no_more() {
    let text = "CUDA out of memory. Tried to allocate 36.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 20.00 MiB is \
                free. Of the allocated memory 22.50 GiB is allocated by PyTorch, and 132.66 MiB is reserved by PyTorch but \
                unallocated.";
    let step =
        |file: &str, function: &str| CodeLine { file: file.into(), line: 3, function: function.into(), code: None };
    let mut crash = crash(text);
    crash.traceback = vec![step("train.py", "<module>"), step("site-packages/torch/optim/adam.py", "_init_group")];
    let (cause, confidence) = verdict(&crash);
    assert_eq!(cause, Cause::OptimizerState);
    assert!(confidence < 0.7, "without a trace it is a guess");
}

#[test]
fn nothing_at_all_is_said_to_be_nothing() {
    let explanation = explain(&Evidence::default());
    assert_eq!(explanation.verdict.cause, Cause::Unknown);
    assert!(explanation.verdict.evidence[0].text.contains("_record_memory_history"), "and how to get more");
}
