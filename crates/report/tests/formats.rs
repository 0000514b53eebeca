//! What people and programs read, whole.

use report::{
    Basis, Ended, Gpu, Location, Oom, Peak, Phase, Rank, Saved, Step, Try, Unknown, Verdict, Warning, json,
    refusal_json, text,
};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn step(number: u64, peak: u64) -> Step {
    Step {
        step: number,
        allocated_bytes: 1200 * MIB,
        reserved_bytes: peak + 700 * MIB,
        peak_allocated_bytes: peak,
        peak_reserved_bytes: peak + 700 * MIB,
        seconds: Some(0.25),
    }
}

fn peak() -> Peak {
    Peak {
        allocated_bytes: 16 * GIB,
        reserved_bytes: 17 * GIB,
        requested_bytes: Some(15 * GIB),
        device_bytes: Some(17 * GIB + 518 * MIB),
    }
}

fn fits() -> Try {
    Try {
        verdict: Verdict::Fits,
        gpu: Gpu { id: "rtx-4090".into(), name: "NVIDIA GeForce RTX 4090".into(), memory_bytes: 25_250_758_656 },
        torch: Some("2.11.0+cu130".into()),
        cuda: Some("13.0".into()),
        cudnn: Some("9.19.0".into()),
        peak: Some(peak()),
        steps: (1..=3).map(|number| step(number, 15 * GIB + number.min(2) * GIB / 2)).collect(),
        oom: None,
        warnings: vec![],
        saved: vec![],
        ranks: vec![Rank { rank: None, pid: 7, steps: 3, peak: Some(peak()), ended: Ended::Steady }],
        ended: Ended::Steady,
        basis: Basis::Derived,
        seconds: 4.2134,
        snapshot: None,
        mistakes: report::Mistakes::default(),
        directory: Some("/home/ada".into()),
    }
}

fn does_not_fit() -> Try {
    let oom = Oom {
        step: 2,
        phase: Phase::Backward,
        requested_bytes: Some(784 * MIB),
        message: "CUDA out of memory. Tried to allocate 784.00 MiB. GPU 0 has a total capacity of 23.52 GiB of which \
                  300.00 MiB is free. If reserved but unallocated memory is large try setting \
                  PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
            .into(),
        location: Some(Location {
            file: "/home/ada/train.py".into(),
            line: 88,
            code: Some("    loss.backward()".into()),
        }),
        traceback: Some("Traceback (most recent call last):\n…".into()),
        caught: false,
    };
    Try { verdict: Verdict::DoesNotFit, oom: Some(oom), steps: vec![step(1, 15 * GIB)], ended: Ended::Oom, ..fits() }
}

fn could_not_tell() -> Try {
    let why = Unknown {
        message: "no optimizer step in 5 min 0 s, while building, peak so far 3 GiB reserved".into(),
        hint: Some("give it longer with --time-limit".into()),
        traceback: None,
    };
    Try { verdict: Verdict::Unknown(why), peak: None, steps: vec![], ranks: vec![], ended: Ended::TimeLimit, ..fits() }
}

/// Everything at once: long tables, ranks, saves, warnings.
fn crowded() -> Try {
    let warning = |line| Warning {
        code: "mask-size".into(),
        message: "the size depends on data that is not there; the largest was assumed".into(),
        file: Some("/home/ada/train.py".into()),
        line: Some(line),
    };
    let saved =
        |index| Saved { what: "torch.save".into(), path: format!("out/checkpoint-{index}.pt"), bytes: 450 * MIB };
    let rank =
        |rank| Rank { rank: Some(rank), pid: 70 + rank as u32, steps: 9, peak: Some(peak()), ended: Ended::Steps };
    Try {
        steps: (1..=9).map(|number| step(number, 15 * GIB)).collect(),
        warnings: (1..=10).map(warning).collect(),
        saved: (1..=7).map(saved).collect(),
        ranks: (0..2).map(rank).collect(),
        ended: Ended::Steps,
        basis: Basis::Measured,
        snapshot: Some("/home/ada/try.pickle".into()),
        ..fits()
    }
}

#[test]
fn text_when_it_fits() {
    insta::assert_snapshot!(text(&fits()));
}

#[test]
fn text_when_it_does_not_fit() {
    insta::assert_snapshot!(text(&does_not_fit()));
}

#[test]
fn a_saved_snapshot_of_a_crash_says_how_to_ask_why() {
    let saved = Try { snapshot: Some("/home/ada/try.pickle".into()), ..does_not_fit() };
    assert!(text(&saved).contains("hint: `oomph explain try.pickle` says"), "{}", text(&saved));
    let fits = Try { snapshot: saved.snapshot, ..fits() };
    assert!(!text(&fits).contains("oomph explain"));
}

#[test]
fn text_when_it_could_not_tell() {
    insta::assert_snapshot!(text(&could_not_tell()));
}

#[test]
fn text_with_everything_at_once() {
    insta::assert_snapshot!(text(&crowded()));
}

#[test]
fn json_when_it_fits() {
    insta::assert_snapshot!(json(&fits()));
}

#[test]
fn json_when_it_does_not_fit() {
    insta::assert_snapshot!(json(&does_not_fit()));
}

#[test]
fn json_when_it_could_not_tell() {
    insta::assert_snapshot!(json(&could_not_tell()));
}

#[test]
fn json_when_it_never_began() {
    insta::assert_snapshot!(refusal_json(&Unknown {
        message: "no card named 'x'".into(),
        hint: None,
        traceback: None
    }));
}

/// Programs rely on these; adding one is fine, losing one is a new schema.
#[test]
fn the_keys_of_schema_1_are_all_there() {
    let keys =
        ["schema", "fits", "gpu", "torch", "cuda", "cudnn", "peak", "steps", "oom", "warnings", "basis", "seconds"];
    for tried in [fits(), does_not_fit(), could_not_tell(), crowded()] {
        let written = json(&tried);
        for key in keys {
            assert!(written.contains(&format!("\n  \"{key}\": ")), "{key} in {written}");
        }
    }
}
