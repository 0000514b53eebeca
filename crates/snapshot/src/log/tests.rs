//! Logs as they are met.

use trace::Refuser;

use super::*;

fn log(text: &str) -> Log {
    read(text.as_bytes(), &|_| {}).unwrap()
}

#[track_caller]
fn one(text: &str) -> Crash {
    let log = log(text);
    assert_eq!(log.crashes.len(), 1, "{:#?}", log.crashes);
    log.crashes.into_iter().next().unwrap()
}

const MESSAGE: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of \
    139.80 GiB of which 96.32 GiB is free. Including non-PyTorch memory, this process has 14.89 GiB memory in use. 16.00 GiB \
    allowed; Of the allocated memory 13.46 GiB is allocated by PyTorch, and 781.09 MiB is reserved by PyTorch but \
    unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";

const TRACEBACK: &str = "\
Traceback (most recent call last):
  File \"/home/ada/train.py\", line 88, in <module>
    main()
    ~~~~^^
  File \"/home/ada/train.py\", line 71, in main
    loss = model(x)
           ^^^^^^^^
  File \"/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py\", line 1779, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
";

fn crash_text() -> String {
    format!("{TRACEBACK}{MESSAGE}\n")
}

fn labelled(text: &str, label: &str) -> String {
    text.lines().map(|line| format!("{label}{line}\n")).collect()
}

/// That it is this crash, whole.
#[track_caller]
fn assert_whole(crash: &Crash) {
    assert_eq!(crash.message.requested.map(|size| size.bytes), Some(2 << 30), "{crash:#?}");
    assert!(crash.message.unallocated.is_some(), "{crash:#?}");
    let lines: Vec<u32> = crash.traceback.iter().map(|line| line.line).collect();
    assert_eq!(lines, [88, 71, 1779], "{crash:#?}");
    let place = crash.place().unwrap();
    assert_eq!((place.file.as_str(), place.line, place.function.as_str()), ("/home/ada/train.py", 71, "main"));
    assert_eq!(place.code.as_deref(), Some("loss = model(x)"));
}

#[test]
fn a_plain_crash() {
    let crash = one(&format!("epoch 1\nepoch 2\n{}bye\n", crash_text()));
    assert_whole(&crash);
    assert_eq!(crash.log_line, Some(13));
    assert_eq!((crash.rank, crash.time), (None, None));
}

#[test]
fn with_colours_and_a_progress_bar() {
    let coloured = crash_text().replace("torch.OutOfMemoryError", "\x1b[1;35mtorch.OutOfMemoryError\x1b[0m");
    let coloured = coloured.replace("\"/home/ada/train.py\"", "\x1b[35m\"/home/ada/train.py\"\x1b[0m");
    assert_whole(&one(&format!(" 10%|█  | 1/10\r 20%|██ | 2/10\r{coloured}")));
    assert_whole(&one(&crash_text().replace('\n', "\r\n")));
}

#[test]
fn under_torchrun() {
    let summary = "============================================================\ntrain.py FAILED\n\
        Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-15_12:34:56\n  host      : node1\n  \
        rank      : 3 (local_rank: 3)\n  exitcode  : 1 (pid: 77)\n";
    let both = labelled(&crash_text(), "[rank1]: ") + &labelled(&crash_text(), "[rank3]: ") + summary;
    let log = log(&both);
    assert_eq!(log.crashes.len(), 2, "{log:#?}");
    log.crashes.iter().for_each(assert_whole);
    assert_eq!(log.ranks(), 2);
    assert_eq!(log.first_failure, Some(FirstFailure { rank: Some(3), time: Some("2026-11-15_12:34:56".into()) }));
    assert_eq!(log.fatal().unwrap().rank, Some(3), "torchrun knows who was first");
}

#[test]
fn ranks_that_talk_at_once() {
    let ranks: Vec<String> = (0..4).map(|rank| labelled(&crash_text(), &format!("[rank{rank}]: "))).collect();
    let mut lines: Vec<Vec<&str>> = ranks.iter().map(|text| text.lines().collect()).collect();
    let mut mixed = String::new();
    while lines.iter().any(|lines| !lines.is_empty()) {
        for lines in &mut lines {
            if !lines.is_empty() {
                mixed += &format!("{}\n", lines.remove(0));
            }
        }
    }
    let log = log(&mixed);
    assert_eq!(log.crashes.iter().map(|crash| crash.rank.unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    log.crashes.iter().for_each(assert_whole);
    assert_eq!(log.fatal().unwrap().rank, Some(0));
}

#[test]
fn with_times_and_other_labels() {
    for label in
        ["2026-11-15T12:34:56.789012345Z stderr F ", "Nov 15 12:34:56 node1 train[77]: ", "trainer-1  | ", " 2: "]
    {
        assert_whole(&one(&labelled(&crash_text(), label)));
    }
    assert_eq!(one(&labelled(&crash_text(), " 2: ")).rank, Some(2), "srun --label");
    let crash = one(&labelled(&crash_text(), "[1,5]<stderr>:2026-11-15 12:34:56,789 ERROR "));
    assert_eq!((crash.rank, crash.time.as_deref()), (Some(5), Some("2026-11-15 12:34:56,789")));
}

#[test]
fn times_that_change_from_line_to_line() {
    let lines = crash_text();
    let stamped: String =
        lines.lines().enumerate().map(|(n, line)| format!("2026-11-15 12:34:{:02}.{n} E {line}\n", 10 + n)).collect();
    assert_whole(&one(&stamped));
}

#[test]
fn a_logger_says_the_time_once() {
    let crash = one(&format!("2026-11-15 12:34:56,789 ERROR root: training failed\n{}", crash_text()));
    assert_whole(&crash);
    assert_eq!(crash.time.as_deref(), Some("2026-11-15 12:34:56,789"));
}

#[test]
fn told_twice_is_one_crash() {
    let words = MESSAGE.strip_prefix("torch.OutOfMemoryError: ").unwrap();
    let crash = one(&format!("ERROR {words}\n{}[rank0]: {MESSAGE}\n", crash_text()));
    assert_whole(&crash);
    assert_eq!(crash.rank, Some(0));
}

#[test]
fn wrapped_at_spaces_and_in_words() {
    for width in [40, 60, 80, 100] {
        let mut wrapped = String::new();
        let chars: Vec<char> = MESSAGE.chars().collect();
        for piece in chars.chunks(width) {
            wrapped.extend(piece);
            wrapped.push('\n');
        }
        assert_whole(&one(&format!("{TRACEBACK}{wrapped}")));
        let spaced = MESSAGE.split(' ').fold(String::new(), |text, word| {
            let column = text.rsplit('\n').next().unwrap().len();
            if column + word.len() > width { format!("{text}\n{word}") } else { format!("{text} {word}") }
        });
        assert_whole(&one(&format!("{TRACEBACK}{}\n", spaced.trim_start())));
    }
}

#[test]
fn in_json() {
    let text =
        serde_json::to_string(&serde_json::json!({"time": "2026-11-15T12:34:56Z", "rank": 6, "message": crash_text()}));
    let crash = one(&format!("{{\"message\": \"fine\"}}\n{}\n", text.unwrap()));
    assert_whole(&crash);
    assert_eq!((crash.rank, crash.time.as_deref()), (Some(6), Some("2026-11-15T12:34:56Z")));
    let docker: String = crash_text()
        .lines()
        .map(|line| serde_json::json!({"log": format!("{line}\n"), "stream": "stderr"}).to_string() + "\n")
        .collect();
    assert_whole(&one(&docker));
}

#[test]
fn in_a_notebook() {
    let traceback = [
        "\u{1b}[0;31m---------------------------------------------------------------------------\u{1b}[0m",
        "\u{1b}[0;31mOutOfMemoryError\u{1b}[0m                          Traceback (most recent call last)",
        "Cell \u{1b}[0;32mIn[3], line 5\u{1b}[0m\n\u{1b}[1;32m      3\u{1b}[0m x = load()\n\u{1b}[0;32m----> 5\u{1b}[0m loss = step(x)\n",
        "File \u{1b}[0;32m~/lib/site-packages/torch/nn/modules/module.py:1779\u{1b}[0m, in \u{1b}[0;36mModule._call_impl\u{1b}[0;34m(self, *args)\u{1b}[0m\n\u{1b}[0;32m-> 1779\u{1b}[0m     return forward_call(*args)\n",
        &MESSAGE.replace("torch.", ""),
    ];
    let output = serde_json::json!({"ename": "OutOfMemoryError", "evalue": &MESSAGE[24..], "traceback": traceback});
    for text in [serde_json::to_string_pretty(&output).unwrap(), traceback.join("\n")] {
        let crash = one(&text);
        let places: Vec<_> = crash.traceback.iter().map(|line| (line.file.as_str(), line.line)).collect();
        assert_eq!(places, [("In[3]", 5), ("~/lib/site-packages/torch/nn/modules/module.py", 1779)], "{crash:#?}");
        assert_eq!(crash.place().unwrap().code.as_deref(), Some("loss = step(x)"));
        assert!(crash.message.unallocated.is_some());
    }
}

#[test]
fn drawn_by_rich() {
    let text = "\
╭───────────── Traceback (most recent call last) ─────────────╮
│ /home/ada/train.py:71 in main                               │
│                                                             │
│   70 │   x = load()                                         │
│ ❱ 71 │   loss = model(x)                                    │
│   72                                                        │
╰─────────────────────────────────────────────────────────────╯
OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00
GiB. GPU 0 has a total capacity of 139.80 GiB of which 96.32
GiB is free.
[12:34:56] ERROR    CUDA out of memory. Tried to       train.py:88
                    allocate 3.00 GiB. GPU 0 has a
                    total capacity of 139.80 GiB of
";
    let log = log(text);
    assert_eq!(log.crashes.len(), 2, "{log:#?}");
    assert_eq!(
        log.crashes[0].place().map(|line| (line.line, line.code.as_deref())),
        Some((71, Some("loss = model(x)")))
    );
    assert_eq!(log.crashes[0].message.free.map(|size| size.bytes / (1 << 20)), Some(98_631));
    assert_eq!(log.crashes[1].message.requested.map(|size| size.bytes), Some(3 << 30));
    assert_eq!(log.crashes[1].time.as_deref(), Some("12:34:56"));
}

#[test]
fn nccl_between_the_traceback_and_the_words() {
    let text = format!(
        "{TRACEBACK}torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled cuda error\n\
         ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'\n"
    );
    let crash = one(&text);
    assert_eq!(crash.message.refuser, Refuser::Nccl);
    assert_eq!(crash.traceback.len(), 3);
}

#[test]
fn sentences_about_memory_are_no_crash() {
    let text = "If you run out of memory, lower --batch-size.\nhint: CUDA out of memory can be avoided\n\
        java.lang.OutOfMemoryError: heap\nMPS ran out of memory\n";
    assert_eq!(log(text).crashes, []);
    assert_eq!(one("RuntimeError: CUDA out of memory.").message.requested, None);
}

#[test]
fn what_was_caught_is_not_what_it_died_of() {
    let caught = MESSAGE.replace("2.00 GiB", "7.00 GiB");
    let log = log(&format!("{caught}\nhalving the batch\n{}RuntimeError: CUDA error: out of memory\n", crash_text()));
    assert_eq!(log.crashes.len(), 3);
    assert_whole(log.fatal().unwrap());
}

#[test]
fn far_into_a_large_log() {
    let noise = "step 1000 | loss 2.3456 | 12.3 it/s\n".repeat(200_000);
    let log = log(&format!("{noise}{}{noise}", crash_text()));
    assert_whole(&log.crashes[0]);
    assert_eq!(log.crashes[0].log_line, Some(200_000 + 11));
    assert_eq!(log.lines, 400_011);
    assert_eq!(log.bytes, 2 * noise.len() as u64 + crash_text().len() as u64);
}

/// Thousands of errors, and lines without end, take time in proportion to their size.
#[test]
fn a_log_made_of_errors() {
    let many: String =
        (0..800).map(|n| format!("x: {}\n", MESSAGE.replace("2.00 GiB", &format!("{n}.00 MiB")))).collect();
    assert!(log(&many).crashes.len() == 800);
    let long = "out of memory ".repeat(20_000);
    assert_eq!(log(&long).crashes, []);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn noise() -> impl Strategy<Value = String> {
        "([ -~\\t│█é]{0,120}[\\n\\r]){0,40}"
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_crash_is_found_in_any_noise(before in noise(), after in noise()) {
            let log = log(&format!("{before}\n{}\n{after}", crash_text()));
            prop_assert!(!log.crashes.is_empty());
            assert_whole(&log.crashes[0]);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let mut text = bytes.clone();
            text.extend(MESSAGE.as_bytes());
            text.extend(bytes);
            let log = read(text.as_slice(), &|_| {}).unwrap();
            prop_assert_eq!(log.bytes, text.len() as u64);
        }

        #[test]
        fn no_damaged_crash_panics(cuts in proptest::collection::vec((0..2000_usize, 0..60_usize, any::<u8>()), 1..8)) {
            let mut text = labelled(&crash_text(), "[rank0]: ").into_bytes();
            for (at, length, byte) in cuts {
                let at = at.min(text.len());
                let end = (at + length).min(text.len());
                text.splice(at..end, [byte]);
            }
            let _ = read(text.as_slice(), &|_| {}).unwrap();
        }
    }
}
