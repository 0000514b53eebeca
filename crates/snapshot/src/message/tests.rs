//! Messages of every version, as printed.

use trace::{Approx, OomMessage, ProcessUse, Refuser};

use super::*;

const GIB: u64 = 1 << 30;

fn gib(value: f64) -> Approx {
    size(&format!("{value:.2} GiB")).unwrap()
}

fn mib(value: f64) -> Approx {
    size(&format!("{value:.2} MiB")).unwrap()
}

#[track_caller]
fn read(text: &str) -> OomMessage {
    parse(text).unwrap_or_else(|| panic!("no message in {text}"))
}

#[test]
fn torch_1_13() {
    let message = read(
        "CUDA out of memory. Tried to allocate 2.81 GiB (GPU 1; 23.69 GiB total capacity; 16.12 GiB already allocated; \
         374.94 MiB free; 19.00 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting \
         max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
    );
    assert_eq!(message.requested, Some(gib(2.81)));
    assert_eq!(message.gpu, Some(1));
    assert_eq!(message.total, Some(gib(23.69)));
    assert_eq!(message.allocated, Some(gib(16.12)));
    assert_eq!(message.free, Some(mib(374.94)));
    assert_eq!(message.reserved(), Some(gib(19.00)));
    assert_eq!(message.cached().unwrap().bytes, gib(19.00).bytes - gib(16.12).bytes);
    assert_eq!((message.own, message.allowed, message.private_pools), (None, None, None));
    assert!(message.text.ends_with("reserved in total by PyTorch)"), "{}", message.text);
}

#[test]
fn torch_2_0_with_a_limit() {
    let message = read(
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.90 GiB total capacity; 14.25 GiB already allocated; \
         991.56 MiB free; 8.00 GiB allowed; 14.40 GiB reserved in total by PyTorch)",
    );
    assert_eq!(message.allowed, Some(gib(8.0)));
    assert_eq!(message.reserved(), Some(gib(14.40)));
}

#[test]
fn torch_2_1_spells_it_capacty() {
    let message = read(
        "CUDA out of memory. Tried to allocate 4.22 GiB. GPU 0 has a total capacty of 15.69 GiB of which 3.71 GiB is free. \
         Process 3513 has 11.14 GiB memory in use. Of the allocated memory 10.14 GiB is allocated by PyTorch, and \
         771.43 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting \
         max_split_size_mb to avoid fragmentation.",
    );
    assert_eq!(message.total, Some(gib(15.69)));
    assert_eq!(message.processes, [ProcessUse { pid: 3513, used: Some(gib(11.14)) }]);
    assert_eq!(message.others(), Some(gib(11.14)));
    assert_eq!(message.own, None);
    assert_eq!(message.reserved(), Some(gib(10.14).plus(mib(771.43))));
    assert!(message.text.ends_with("unallocated."), "{}", message.text);
}

#[test]
fn torch_2_2() {
    let message = read(
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 3.94 GiB of which 21.06 MiB is free. \
         Including non-PyTorch memory, this process has 3.88 GiB memory in use. Of the allocated memory 3.41 GiB is \
         allocated by PyTorch, and 13.19 MiB is reserved by PyTorch but unallocated.",
    );
    assert_eq!(message.own, Some(gib(3.88)));
    let outside = message.outside().unwrap();
    assert_eq!(outside.bytes, gib(3.88).bytes - gib(3.41).bytes - mib(13.19).bytes);
    assert!(outside.plus_minus > gib(3.88).plus_minus, "each rounding adds its own doubt");
}

#[test]
fn torch_2_3_prints_the_device_as_a_byte() {
    for device in [0_u8, 1, 7] {
        let text = format!(
            "CUDA out of memory. Tried to allocate 20.00 MiB. GPU {} has a total capacity of 3.94 GiB of which 0 bytes is free. ",
            char::from(device)
        );
        let message = read(&text);
        assert_eq!(message.gpu, Some(u32::from(device)));
        assert_eq!(message.free, Some(Approx::exact(0)));
    }
    // A tab is white space by the time it is read; the rest must not suffer.
    let message = read(
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU \t has a total capacity of 3.94 GiB of which 1.00 KiB is free.",
    );
    assert_eq!((message.gpu, message.total), (None, Some(gib(3.94))));
}

#[test]
fn torch_2_4_has_private_pools() {
    let message = read(
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 2 has a total capacity of 79.10 GiB of which 18.62 MiB is free. \
         Including non-PyTorch memory, this process has 79.07 GiB memory in use. Of the allocated memory 70.54 GiB is \
         allocated by PyTorch, with 4.56 GiB allocated in private pools (e.g., CUDA Graphs), and 6.77 GiB is reserved by \
         PyTorch but unallocated.",
    );
    assert_eq!(message.private_pools, Some(gib(4.56)));
    assert_eq!(message.allocated, Some(gib(70.54)));
    assert_eq!(message.unallocated, Some(gib(6.77)));
    assert_eq!(message.reserved().unwrap().bytes, gib(70.54).bytes + gib(6.77).bytes);
}

/// Word for word what an H200 with seven processes on it said (torch 2.11).
const H200: &str = "CUDA out of memory. Tried to allocate 1024.00 MiB. GPU 0 has a total capacity of 139.80 GiB of which \
    87.52 GiB is free. Process 646 has 518.00 MiB memory in use. Process 652 has 8.70 GiB memory in use. Process 656 has \
    5.53 GiB memory in use. Process 654 has 12.56 GiB memory in use. Including non-PyTorch memory, this process has \
    15.86 GiB memory in use. Process 650 has 8.08 GiB memory in use. Process 657 has 1.00 GiB memory in use. 16.00 GiB \
    allowed; Of the allocated memory 15.18 GiB is allocated by PyTorch, and 15.79 MiB is reserved by PyTorch but \
    unallocated. If reserved but unallocated memory is large try setting \
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  \
    (https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)";

#[test]
fn torch_2_11_with_everything() {
    let message = read(H200);
    assert_eq!(message.refuser, Refuser::Allocator);
    assert!(message.requested.unwrap().holds(GIB));
    assert!(message.total.unwrap().holds(150_109_880_320));
    assert_eq!(message.free, Some(gib(87.52)));
    let pids: Vec<u32> = message.processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [646, 652, 656, 654, 650, 657]);
    assert_eq!(message.processes[0].used, Some(mib(518.0)));
    assert_eq!(message.own, Some(gib(15.86)));
    assert!(message.allowed.unwrap().holds(16 * GIB));
    assert_eq!(message.allocated, Some(gib(15.18)));
    assert_eq!(message.unallocated, Some(mib(15.79)));
    // 645 MiB outside the allocator is what this card's context and libraries were measured to take.
    assert!(message.outside().unwrap().low() < 700 << 20);
}

#[test]
fn a_process_that_nvml_does_not_show() {
    let message = read(
        "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 3.94 GiB of which 1.00 MiB is free. \
         Process 7 has 17179869184.00 GiB memory in use. Including non-PyTorch memory, this process has \
         17179869184.00 GiB memory in use. Of the allocated memory 1.00 GiB is allocated by PyTorch, and 0 bytes is reserved \
         by PyTorch but unallocated.",
    );
    assert_eq!(message.processes, [ProcessUse { pid: 7, used: None }]);
    assert_eq!((message.own, message.outside(), message.others()), (None, None, None));
    assert_eq!(message.allocated, Some(gib(1.0)));
    assert_eq!(message.unallocated, Some(Approx::exact(0)));
}

#[test]
fn more_than_an_exabyte() {
    let message = read("CUDA out of memory. Tried to allocate more than 1EB memory.\n");
    assert_eq!(message.refuser, Refuser::TooLarge);
    assert_eq!(message.text, "CUDA out of memory. Tried to allocate more than 1EB memory.");
}

#[test]
fn rejected_by_policy() {
    let start = "CUDA out of memory. Allocation was preemptively rejected because it would exceed \
                 per_process_memory_fraction limit. Requested size: ";
    assert_eq!(read(&format!("{start}2.00 GiB")).requested, Some(gib(2.0)));
    assert_eq!(read(&format!("{start}2147483648")).requested, Some(Approx::exact(2 * GIB)));
    assert_eq!(read(start).refuser, Refuser::Policy);
}

#[test]
fn the_async_backend() {
    let message = read(
        "Allocation on device 3 would exceed allowed memory. (out of memory)\n\
         Currently allocated     : 10.00 GiB\n\
         Requested               : 2.00 GiB\n\
         Device limit            : 11.76 GiB\n\
         Free (according to CUDA): 24.06 MiB\n\
         PyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB\n",
    );
    assert_eq!(message.refuser, Refuser::AsyncAllocator);
    assert_eq!(message.gpu, Some(3));
    assert_eq!(message.allocated, Some(gib(10.0)));
    assert_eq!(message.requested, Some(gib(2.0)));
    assert_eq!(message.total, Some(gib(11.76)));
    assert_eq!(message.free, Some(mib(24.06)));
    assert_eq!(message.allowed, None, "no limit was set");
}

#[test]
fn hip() {
    let message = read(
        "HIP out of memory. Tried to allocate 7.03 GiB. GPU 0 has a total capacity of 23.98 GiB of which 1.30 GiB is free. Of \
         the allocated memory 18.63 GiB is allocated by PyTorch, and 2.98 GiB is reserved by PyTorch but unallocated.",
    );
    assert_eq!(message.requested, Some(gib(7.03)));
    assert_eq!(message.unallocated, Some(gib(2.98)));
}

#[test]
fn libraries_without_numbers() {
    let cases = [
        ("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported", Refuser::Cuda),
        ("CUDA driver error: out of memory", Refuser::Cuda),
        ("Triton Error [CUDA]: out of memory", Refuser::Cuda),
        ("HIP error: out of memory", Refuser::Cuda),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", Refuser::Cublas),
        ("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", Refuser::Cublas),
        ("cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", Refuser::Cudnn),
        ("cuDNN error: CUDNN_STATUS_ALLOC_FAILED", Refuser::Cudnn),
        ("Cuda failure 2 'out of memory'", Refuser::Nccl),
        ("Cuda failure 'out of memory'", Refuser::Nccl),
    ];
    for (text, refuser) in cases {
        assert_eq!(read(text).refuser, refuser, "{text}");
        assert_eq!(read(text).requested, None);
    }
    for text in ["CUDA error: device-side assert triggered", "cuDNN error: CUDNN_STATUS_BAD_PARAM", "out of memory", ""]
    {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[test]
fn found_in_the_middle_of_something() {
    let message = find(&format!("x CUDA error: device-side assert; then {H200}")).unwrap();
    assert_eq!(message, read(H200));
    assert_eq!(find("nothing of the kind"), None);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = parse(&text);
            let _ = find(&text);
        }

        /// A real message with pieces cut out, doubled or overwritten.
        #[test]
        fn no_damaged_message_panics(at in 0..H200.len(), length in 0..80_usize, with in "[ -~\\n│é]{0,20}") {
            let end = (at + length).min(H200.len());
            let damaged = format!("{}{with}{}", &H200[..at], &H200[end..]);
            let _ = find(&damaged);
        }

        /// Cut anywhere, what was before the cut is still read.
        #[test]
        fn a_truncated_message_gives_what_is_there(at in 60..H200.len()) {
            let message = parse(&H200[..at]).unwrap();
            prop_assert!(message.requested.unwrap().holds(GIB));
        }

        #[test]
        fn every_number_of_bytes_is_inside_its_printed_range(bytes in 0..1_u64 << 45) {
            let printed = match bytes {
                0..=1024 => format!("{bytes} bytes"),
                1025..=1_048_576 => format!("{:.2} KiB", bytes as f64 / 1024.0),
                1_048_577..=1_073_741_824 => format!("{:.2} MiB", bytes as f64 / 1_048_576.0),
                _ => format!("{:.2} GiB", bytes as f64 / 1_073_741_824.0),
            };
            prop_assert!(size(&printed).unwrap().holds(bytes), "{}", printed);
        }
    }
}
