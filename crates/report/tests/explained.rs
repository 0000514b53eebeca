//! What a person with a crash reads, whole, in every format.

use explain::{
    Cause, Explanation, Fact, Finding, Fix, Held, HeldAt, HeldBy, HeldFor, Location, Moment, Oom, Peak, Ran, beside,
};
use report::explained::{
    About, Curve, Explained, Point, WhatIf, compared_html, compared_json, compared_markdown, compared_text, html, json,
    markdown, refusal_json, text,
};
use trace::{Approx, Basis, Category, OomMessage, Phase, ProcessUse, Refuser};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn at(file: &str, line: u32, function: &str) -> Location {
    Location { file: file.into(), line, function: function.into() }
}

fn fact(text: &str, bytes: u64, location: Option<Location>) -> Fact {
    Fact { text: text.into(), bytes: Some(bytes), location }
}

fn message() -> OomMessage {
    OomMessage {
        text: "CUDA out of memory. Tried to allocate 1024.00 MiB. GPU 0 has a total capacity of 23.52 GiB of which \
               300.00 MiB is free."
            .into(),
        requested: Some(Approx { bytes: GIB, plus_minus: 5243 }),
        gpu: Some(0),
        total: Some(Approx { bytes: 25_254_407_209, plus_minus: 5_368_710 }),
        free: Some(Approx { bytes: 300 * MIB, plus_minus: 5243 }),
        processes: vec![ProcessUse { pid: 646, used: Some(Approx { bytes: 518 * MIB, plus_minus: 5243 }) }],
        allocated: Some(Approx { bytes: 22 * GIB, plus_minus: 5_368_710 }),
        unallocated: Some(Approx { bytes: 16 * MIB, plus_minus: 5243 }),
        ..OomMessage::default()
    }
}

fn oom() -> Oom {
    Oom {
        requested_bytes: Some(GIB),
        device: Some(0),
        step: Some(3),
        phase: Some(Phase::Forward),
        location: Some(at("/home/ada/model.py", 9, "forward")),
        code: Some("    x = x + self.mlp(self.norm(x))".into()),
        allocated_bytes: Some(22 * GIB),
        reserved_bytes: Some(22 * GIB + 16 * MIB),
        largest_free_bytes: Some(8 * MIB),
        device_free_bytes: Some(300 * MIB),
        device_total_bytes: Some(25_250_758_656),
        message: Some(message()),
        time_us: Some(1_800_000_000_000_000),
        ..Oom::default()
    }
}

fn held() -> Held {
    let category = |category, bytes, basis| HeldFor { category, bytes, basis };
    let module = |module: &str, bytes, count| HeldBy { module: module.into(), bytes, count };
    let line = |file, line, function, bytes, count| HeldAt { location: at(file, line, function), bytes, count };
    Held {
        when: Some(Moment::Oom),
        total_bytes: Some(22 * GIB),
        by_category: vec![
            category(Category::Activation, 18 * GIB, Basis::Marked),
            category(Category::OptimizerState, 2 * GIB, Basis::Marked),
            category(Category::Parameter, GIB, Basis::Marked),
            category(Category::Gradient, GIB - MIB, Basis::Marked),
            category(Category::Workspace, MIB, Basis::Inferred),
        ],
        by_module: vec![
            module("transformer.h.0.mlp", 3 * GIB, 4),
            module("transformer.h.1.mlp", 3 * GIB, 4),
            module("transformer.h.2.mlp", 3 * GIB, 4),
            module("lm_head", 2 * GIB, 1),
        ],
        by_line: vec![
            line("/home/ada/model.py", 9, "forward", 12 * GIB, 24),
            line("/home/ada/train.py", 40, "main", 4 * GIB, 300),
            line("/opt/venv/lib/python3.12/site-packages/transformers/models/gpt2.py", 310, "forward", 2 * GIB, 1),
        ],
    }
}

fn died() -> Explained {
    let explanation = Explanation {
        verdict: Finding {
            cause: Cause::Batch,
            confidence: 0.904,
            summary: "activations of one step hold 18 GiB of 22 GiB (82 %); they grow with the batch".into(),
            evidence: vec![
                fact("activations of the step that died", 18 * GIB, None),
                fact("most of it made here", 12 * GIB, Some(at("/home/ada/model.py", 9, "forward"))),
                Fact { text: "52 tensors, the largest of them 1 GiB".into(), ..Fact::default() },
            ],
        },
        also: vec![Finding {
            cause: Cause::Logits,
            confidence: 0.31,
            summary: "logits and what is made of them hold 2 GiB of 22 GiB (9 %)".into(),
            evidence: vec![fact("logits", 2 * GIB, None)],
        }],
        oom: Some(oom()),
        peak: Peak { allocated_bytes: Some(22 * GIB), reserved_bytes: Some(22 * GIB + 16 * MIB) },
        held: held(),
        fixes: vec![
            Fix {
                remedy: "checkpointing".into(),
                frees_bytes: Some(15 * GIB),
                how: "recompute activations in the backward pass: torch.utils.checkpoint, or \
                      model.gradient_checkpointing_enable()"
                    .into(),
            },
            Fix { remedy: "smaller-batch".into(), frees_bytes: Some(9 * GIB), how: "halve the batch".into() },
            Fix { remedy: "sdpa".into(), frees_bytes: None, how: "attn_implementation=\"sdpa\"".into() },
        ],
        warnings: vec!["the recording began in the middle".into()],
    };
    let about = About {
        files: vec!["oom.pickle".into()],
        directory: Some("/home/ada".into()),
        torch: Some("2.11.0+cu130".into()),
        gpu: Some("NVIDIA GeForce RTX 4090".into()),
        device: Some(0),
        rank: None,
        events: Some(31_787),
    };
    Explained { explanation, about, curve: Some(curve()), what_if: None, mistakes: report::Mistakes::default() }
}

fn curve() -> Curve {
    let point = |n: u64| Point { at: n as f64 / 8.0, allocated_bytes: n * 2 * GIB, reserved_bytes: n * 2 * GIB + GIB };
    Curve { points: (1..=8).map(point).collect(), oom: Some(1.0), steps: vec![0.25, 0.5, 1.0] }
}

/// From a log alone: no lists, no bytes.
fn from_a_log() -> Explained {
    let died = died();
    let explanation = Explanation {
        verdict: Finding {
            cause: Cause::Unknown,
            confidence: 0.0,
            summary: "the message alone does not say who held the memory".into(),
            evidence: vec![Fact { text: "record a snapshot".into(), ..Fact::default() }],
        },
        also: vec![],
        oom: Some(Oom {
            requested_bytes: None,
            location: None,
            code: None,
            step: None,
            phase: None,
            rank: Some(3),
            time: Some("2026-11-15 12:34:56".into()),
            message: Some(OomMessage {
                refuser: Refuser::Nccl,
                text: "Cuda failure 2 'out of memory'".into(),
                ..OomMessage::default()
            }),
            ..Oom::default()
        }),
        peak: Peak::default(),
        held: Held::default(),
        fixes: vec![Fix { remedy: "smaller-batch".into(), frees_bytes: None, how: "halve the batch".into() }],
        warnings: vec![],
    };
    Explained { explanation, about: About { files: vec!["train.log".into()], ..About::default() }, curve: None, ..died }
}

/// It did not die; names that try to be markup.
fn lived() -> Explained {
    let mut lived = died();
    lived.explanation.oom = None;
    lived.explanation.held.when = Some(Moment::Peak);
    lived.explanation.verdict.summary = "weights <b>hold</b> 2 GiB | of 22 GiB".into();
    lived.explanation.held.by_line[0].location = at("/home/ada/<script>alert(1)</script>.py", 1, "<listcomp>");
    lived.about.files = vec!["a\"><img src=x>.pickle".into()];
    lived.what_if = Some(WhatIf {
        alloc_conf: Some("expandable_segments:True".into()),
        memory_bytes: Some(24 * GIB),
        survives: Some(false),
        peak_reserved_bytes: Some(23 * GIB),
        refused: Some((7, 90)),
        refused_bytes: Some(GIB),
        notes: vec!["12 blocks are older than the recording".into()],
    });
    lived
}

fn ran(name: &str, explained: &Explained) -> Ran {
    let died_us = explained.explanation.oom.as_ref().and_then(|oom| oom.time_us);
    Ran { name: name.into(), explanation: explained.explanation.clone(), died_us }
}

fn compared() -> explain::Comparison {
    let mut small = lived();
    small.explanation.peak.allocated_bytes = Some(9 * GIB);
    small.explanation.held.by_category[0].bytes = 5 * GIB;
    small.explanation.held.by_line.remove(1);
    beside(vec![ran("rank0.pickle", &small), ran("rank1.pickle", &died())])
}

#[test]
fn text_of_a_crash() {
    insta::assert_snapshot!(text(&died(), false));
}

#[test]
fn text_in_full() {
    insta::assert_snapshot!(text(&died(), true));
}

#[test]
fn text_from_a_log() {
    insta::assert_snapshot!(text(&from_a_log(), false));
}

#[test]
fn text_of_a_run_that_lived() {
    insta::assert_snapshot!(text(&lived(), false));
}

#[test]
fn json_of_a_crash() {
    insta::assert_snapshot!(json(&died()));
}

#[test]
fn json_from_a_log() {
    insta::assert_snapshot!(json(&from_a_log()));
}

#[test]
fn json_of_a_refusal() {
    insta::assert_snapshot!(refusal_json("no file x.pickle", Some("look elsewhere")));
}

#[test]
fn markdown_of_a_crash() {
    insta::assert_snapshot!(markdown(&died()));
}

#[test]
fn markdown_of_hostile_names() {
    insta::assert_snapshot!(markdown(&lived()));
}

#[test]
fn html_of_a_crash() {
    insta::assert_snapshot!(html(&died()));
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    for page in [html(&lived()), html(&from_a_log()), compared_html(&compared(), &About::default(), &[lived(), died()])]
    {
        let lower = page.to_lowercase();
        for word in ["<script", "<img", "<b>", "http:", "https:", "url(", "@import", "src=\"", "href=", "onload"] {
            assert!(!lower.contains(word), "{word} in {page}");
        }
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    }
}

#[test]
fn a_screen_is_a_screen() {
    for explained in [died(), lived(), from_a_log()] {
        let shown = text(&explained, false);
        assert!(shown.lines().count() <= 42, "{} lines:\n{shown}", shown.lines().count());
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    }
}

#[test]
fn text_of_a_comparison() {
    insta::assert_snapshot!(compared_text(&compared(), &about(), false));
}

#[test]
fn markdown_of_a_comparison() {
    insta::assert_snapshot!(compared_markdown(&compared(), &about()));
}

#[test]
fn json_of_a_comparison_has_the_keys_of_one() {
    let value: serde_json::Value = serde_json::from_str(&compared_json(&compared(), &about())).unwrap();
    assert_eq!(value["verdict"]["cause"], "batch", "of the one that died");
    assert_eq!(value["runs"][0]["name"], "rank0.pickle");
    assert_eq!(value["compared"]["highest"], "rank1.pickle");
    assert_eq!(value["compared"]["first_dead"], "rank1.pickle");
    assert_eq!(value["compared"]["by_category"][0], serde_json::json!({"category": "activation", "bytes": 13 * GIB}));
}

fn about() -> About {
    About { directory: Some("/home/ada".into()), ..About::default() }
}

/// Programs rely on these; adding one is fine, losing one is a new schema.
#[test]
fn the_keys_of_schema_1_are_all_there() {
    for explained in [died(), lived(), from_a_log()] {
        let value: serde_json::Value = serde_json::from_str(&json(&explained)).unwrap();
        for key in ["schema", "verdict", "also", "oom", "peak", "held", "fixes", "warnings"] {
            assert!(value.get(key).is_some(), "{key}");
        }
        for key in ["cause", "confidence", "summary", "evidence"] {
            assert!(value["verdict"].get(key).is_some(), "{key}");
        }
        for key in ["by_category", "by_module", "by_line"] {
            assert!(value["held"][key].is_array(), "{key}");
        }
        for key in ["allocated_bytes", "reserved_bytes"] {
            assert!(value["peak"].get(key).is_some(), "{key}");
        }
    }
}
