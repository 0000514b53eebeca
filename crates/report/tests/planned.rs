//! What people and programs read of a plan.

use report::planned::{AsIs, Effect, Infeasible, LargestBatch, Plan, Planned, Rejected, Remedy, Slowdown, json, text};
use report::{Gpu, Mistake, Mistakes, Peak};

const GIB: u64 = 1 << 30;

fn peak(gib: u64) -> Peak {
    Peak {
        allocated_bytes: (gib - 1) * GIB,
        reserved_bytes: gib * GIB,
        requested_bytes: None,
        device_bytes: Some(gib * GIB + GIB / 2),
    }
}

fn remedy(id: &str, title: &str, settings: serde_json::Value) -> Remedy {
    Remedy { id: id.into(), title: title.into(), settings: settings.as_object().unwrap().clone() }
}

fn bf16() -> Remedy {
    remedy("bf16-autocast", "Run the forward pass in bfloat16", serde_json::json!({}))
}

fn micro() -> Remedy {
    let settings = serde_json::json!({"parts": 4, "batch": 64, "rows": 16, "by": "loader"});
    remedy("micro-batch", "Split each batch and add up the gradients", settings)
}

fn plan(remedies: Vec<Remedy>, gib: u64, factor: f64, mathematics: &str) -> Plan {
    Plan {
        remedies,
        peak: peak(gib),
        fits: true,
        slowdown: Some(Slowdown { factor, basis: "roofline".into() }),
        same_math: mathematics == "same",
        mathematics: mathematics.into(),
        diff: Some("--- train.py\n+++ train.py\n@@ -1 +1 @@\n-a\n+b\n".into()),
        environment: vec![],
        command: None,
        notes: vec![],
        verified: true,
    }
}

fn planned() -> Planned {
    let same = Plan {
        command: Some("python train.py --batch-size 16".into()),
        environment: vec![("PYTORCH_CUDA_ALLOC_CONF".into(), "expandable_segments:True".into())],
        notes: vec!["two lines\nof a note".into()],
        verified: false,
        diff: None,
        ..plan(vec![micro()], 7, 1.24, "same")
    };
    Planned {
        gpu: Gpu { id: "rtx-3060".into(), name: "NVIDIA GeForce RTX 3060".into(), memory_bytes: 12 * GIB },
        limit_bytes: 12 * GIB - GIB / 8,
        margin_percent: 1.0,
        as_is: AsIs { peak: peak(20), fits: false, step_seconds: Some(0.25) },
        plans: vec![plan(vec![bf16(), micro()], 9, 0.64, "rounding"), same],
        effects: vec![
            Effect { remedy: bf16(), peak: peak(13), frees_bytes: 7 * GIB as i64, slowdown: Some(0.6) },
            Effect { remedy: micro(), peak: peak(7), frees_bytes: 13 * GIB as i64, slowdown: Some(2.5) },
        ],
        rejected: vec![Rejected { remedy: "sdpa".into(), why: "attention runs as sdpa already".into() }],
        infeasible: None,
        largest_batch: None,
        time_basis: "roofline over the operations of one step".into(),
        warnings: vec!["the shapes of the inputs differ from step to step".into()],
        mistakes: Mistakes {
            here: vec![Mistake {
                code: "L01".into(),
                name: "loss-kept".into(),
                message: "keeps the graph".into(),
                file: "/home/ada/train.py".into(),
                line: 7,
            }],
            elsewhere: vec![],
        },
        tries: 14,
        seconds: 41.5,
        import_seconds: Some(6.0),
    }
}

#[test]
fn text_of_a_plan() {
    insta::assert_snapshot!(text(&planned()));
}

#[test]
fn text_when_nothing_fits() {
    let infeasible = Infeasible {
        smallest_memory_bytes: 14 * GIB,
        cards: vec!["rtx-a4000".into(), "rtx-4090".into()],
        remedies: vec![bf16(), micro()],
    };
    let none = Planned { plans: vec![], infeasible: Some(infeasible), mistakes: Mistakes::default(), ..planned() };
    assert!(!none.fits());
    insta::assert_snapshot!(text(&none));
}

#[test]
fn text_of_the_largest_batch() {
    let largest = LargestBatch { batch: 22, was: 64, peak: peak(11), too_large: Some(23) };
    let only = Planned {
        plans: vec![],
        effects: vec![],
        rejected: vec![],
        largest_batch: Some(largest),
        warnings: vec![],
        mistakes: Mistakes::default(),
        ..planned()
    };
    assert!(only.fits());
    insta::assert_snapshot!(text(&only));
}

#[test]
fn json_has_the_keys_of_the_contract() {
    let value: serde_json::Value = serde_json::from_str(&json(&planned())).unwrap();
    assert_eq!(value["schema"], 1);
    for key in ["as_is", "plans", "rejected", "infeasible", "tries", "seconds"] {
        assert!(value.get(key).is_some(), "{key}");
    }
    for key in ["remedies", "peak", "fits", "slowdown", "same_math", "diff", "verified"] {
        assert!(value["plans"][0].get(key).is_some(), "{key}");
    }
    assert_eq!(value["plans"][0]["remedies"][1]["settings"]["parts"], 4);
    assert_eq!(value["plans"][1]["diff"], serde_json::Value::Null);
}
