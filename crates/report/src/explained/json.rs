//! The JSON format: one object, schema 1.
//!
//! Keys of schema 1 are never removed or given another meaning; new ones may be added.

use explain::{Explanation, Fact, Finding, Fix, Held, HeldAt, Location, Moment, Oom};
use serde_json::{Value, json};
use trace::{Approx, OomMessage};

use super::{About, Explained, WhatIf, words};

const SCHEMA: u32 = 1;

/// The explanation as one JSON object, with a newline at its end.
pub fn json(explained: &Explained) -> String {
    written(&document(explained))
}

/// Nothing could be explained: the same object, with nothing in it but the reason.
pub fn refusal_json(message: &str, hint: Option<&str>) -> String {
    written(&json!({"schema": SCHEMA, "verdict": null, "error": {"message": message, "hint": hint}}))
}

pub fn written(value: &Value) -> String {
    let mut out = serde_json::to_string_pretty(value).expect("plain data always serialises");
    out.push('\n');
    out
}

pub fn document(explained: &Explained) -> Value {
    let Explained { explanation, about, what_if, mistakes, .. } = explained;
    let Explanation { verdict, also, oom, peak, held, fixes, warnings } = explanation;
    json!({
        "schema": SCHEMA,
        "verdict": finding(verdict),
        "also": also.iter().map(finding).collect::<Vec<_>>(),
        "oom": oom.as_ref().map(oom_of),
        "peak": {"allocated_bytes": peak.allocated_bytes, "reserved_bytes": peak.reserved_bytes},
        "held": held_of(held),
        "fixes": fixes.iter().map(fix).collect::<Vec<_>>(),
        "warnings": warnings,
        "about": about_of(about),
        "what_if": what_if.as_ref().map(what_if_of),
        "mistakes": mistakes,
    })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "cause": finding.cause.id(),
        // Two digits are more than anybody knows.
        "confidence": (finding.confidence * 100.0).round() / 100.0,
        "summary": finding.summary,
        "evidence": finding.evidence.iter().map(fact).collect::<Vec<_>>(),
    })
}

fn fact(fact: &Fact) -> Value {
    json!({"text": fact.text, "bytes": fact.bytes, "location": fact.location.as_ref().map(location)})
}

pub fn location(location: &Location) -> Value {
    json!({"file": location.file, "line": location.line, "function": location.function})
}

fn oom_of(oom: &Oom) -> Value {
    json!({
        "requested_bytes": oom.requested_bytes,
        "device": oom.device,
        "rank": oom.rank,
        "step": oom.step,
        "phase": oom.phase.map(trace::Phase::word),
        "location": oom.location.as_ref().map(location),
        "code": oom.code,
        "allocated_bytes": oom.allocated_bytes,
        "reserved_bytes": oom.reserved_bytes,
        "largest_free_bytes": oom.largest_free_bytes,
        "device_free_bytes": oom.device_free_bytes,
        "device_total_bytes": oom.device_total_bytes,
        "time": oom.time,
        "time_us": oom.time_us,
        "message": oom.message.as_ref().map(message),
    })
}

/// Sizes of a message are rounded; `plus_minus` says how much.
fn message(message: &OomMessage) -> Value {
    let size = |size: Option<Approx>| size.map(approx);
    let processes = message.processes.iter().map(|process| json!({"pid": process.pid, "used": size(process.used)}));
    json!({
        "text": message.text,
        "requested": size(message.requested),
        "gpu": message.gpu,
        "total": size(message.total),
        "free": size(message.free),
        "processes": processes.collect::<Vec<_>>(),
        "own": size(message.own),
        "allowed": size(message.allowed),
        "allocated": size(message.allocated),
        "private_pools": size(message.private_pools),
        "unallocated": size(message.cached()),
        "reserved": size(message.reserved()),
        "outside_pytorch": size(message.outside()),
    })
}

fn approx(size: Approx) -> Value {
    json!({"bytes": size.bytes, "plus_minus": size.plus_minus})
}

fn held_of(held: &Held) -> Value {
    let when = held.when.map(|when| match when {
        Moment::Oom => "oom",
        Moment::Peak => "peak",
        Moment::End => "end",
    });
    let by_category = held
        .by_category
        .iter()
        .map(|row| json!({"category": row.category.word(), "bytes": row.bytes, "basis": words::basis(row.basis)}));
    let by_module =
        held.by_module.iter().map(|row| json!({"module": row.module, "bytes": row.bytes, "count": row.count}));
    json!({
        "when": when,
        "total_bytes": held.total_bytes,
        "by_category": by_category.collect::<Vec<_>>(),
        "by_module": by_module.collect::<Vec<_>>(),
        "by_line": held.by_line.iter().map(held_at).collect::<Vec<_>>(),
    })
}

fn held_at(row: &HeldAt) -> Value {
    let Location { file, line, function } = &row.location;
    json!({"file": file, "line": line, "function": function, "bytes": row.bytes, "count": row.count})
}

fn fix(fix: &Fix) -> Value {
    json!({"remedy": fix.remedy, "frees_bytes": fix.frees_bytes, "how": fix.how})
}

pub fn about_of(about: &About) -> Value {
    json!({
        "files": about.files,
        "device": about.device,
        "rank": about.rank,
        "torch": about.torch,
        "gpu": about.gpu,
        "events": about.events,
    })
}

fn what_if_of(what_if: &WhatIf) -> Value {
    json!({
        "alloc_conf": what_if.alloc_conf,
        "memory_bytes": what_if.memory_bytes,
        "survives": what_if.survives,
        "peak_reserved_bytes": what_if.peak_reserved_bytes,
        "refused_request": what_if.refused.map(|(request, _)| request),
        "requests": what_if.refused.map(|(_, of)| of),
        "refused_bytes": what_if.refused_bytes,
        "notes": what_if.notes,
    })
}
