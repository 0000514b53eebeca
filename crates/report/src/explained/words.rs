//! The words and numbers that every format uses.

use explain::{Explanation, Fact, Finding, Location, Moment, Oom};
use trace::{Basis, Refuser};
use units::Bytes;

use super::{About, WhatIf};

/// The first line: the cause in a sentence.
pub fn headline(explanation: &Explanation) -> String {
    let summary = &explanation.verdict.summary;
    match &explanation.oom {
        Some(_) => format!("Out of memory: {summary}"),
        None => capital(summary),
    }
}

pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// `1 GiB more, in forward of step 3, on GPU 0`, as much of it as is known
pub fn wanted(oom: &Oom) -> Option<String> {
    let when = match (oom.phase, oom.step) {
        // Step 0 is before training began.
        (Some(phase), None | Some(0)) => Some(format!("in {}", phase.word())),
        (Some(phase), Some(step)) => Some(format!("in {} of step {step}", phase.word())),
        (None, Some(step)) if step > 0 => Some(format!("in step {step}")),
        (None, _) => None,
    };
    let parts = [
        oom.requested_bytes.map(|bytes| format!("{} more", Bytes(bytes))),
        when,
        oom.device.map(|device| format!("on GPU {device}")),
        oom.rank.map(|rank| format!("rank {rank}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What the card had, as far as anybody said: `15.2 GiB allocated, 15.2 GiB reserved, 87.5 GiB of 139.8 GiB free`.
pub fn card(oom: &Oom) -> Option<String> {
    let message = oom.message.as_ref();
    let named = |bytes: Option<u64>, what: &str| bytes.map(|bytes| format!("{} {what}", Bytes(bytes)));
    let free = match (oom.device_free_bytes, oom.device_total_bytes) {
        (Some(free), Some(total)) => Some(format!("{} of {} free", Bytes(free), Bytes(total))),
        (free, _) => named(free, "free"),
    };
    let parts = [
        named(oom.allocated_bytes, "allocated"),
        named(oom.reserved_bytes, "reserved"),
        named(oom.largest_free_bytes, "the largest free piece of that"),
        named(message.and_then(|message| Some(message.allowed?.bytes)), "allowed"),
        free,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Who refused, where it was not PyTorch's allocator.
pub fn refuser(oom: &Oom) -> Option<&'static str> {
    Some(match oom.message.as_ref()?.refuser {
        Refuser::Allocator => return None,
        Refuser::AsyncAllocator => "the cudaMallocAsync backend refused",
        Refuser::TooLarge => "more than an exabyte was asked for: a wrong size, not a full card",
        Refuser::Policy => "PyTorch refused before asking the driver, because of per_process_memory_fraction",
        Refuser::Cuda => "a CUDA call outside PyTorch's allocator was refused",
        Refuser::Cublas => "cuBLAS could not get its own memory",
        Refuser::Cudnn => "cuDNN could not get its own memory",
        Refuser::Nccl => "NCCL could not get its own memory",
    })
}

pub fn moment(when: Option<Moment>) -> &'static str {
    match when {
        Some(Moment::Oom) => "Held when it ran out",
        Some(Moment::Peak) => "Held at the peak",
        Some(Moment::End) => "Held at the end",
        None => "Held",
    }
}

pub fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Marked => "marked",
        Basis::Inferred => "inferred",
    }
}

/// `92 %`. Certainty is rare and 0 is for what nobody knows.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).clamp(0.0, 100.0))
}

pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// `train.py:88 in step`, as the person who typed the command would write it.
pub fn place(about: &About, location: &Location) -> String {
    let file = file(about, &location.file);
    let function = &location.function;
    if function.is_empty() {
        format!("{file}:{}", location.line)
    } else {
        format!("{file}:{} in {function}", location.line)
    }
}

/// A path below the current directory without it, and an installed one from its package on.
pub fn file<'a>(about: &About, path: &'a str) -> &'a str {
    let below = about.directory.as_deref().and_then(|directory| path.strip_prefix(directory)?.strip_prefix('/'));
    let installed = || {
        let (_, package) = path.rsplit_once("site-packages/").or_else(|| path.rsplit_once("dist-packages/"))?;
        Some(package)
    };
    below.filter(|path| !path.contains("site-packages/")).or_else(installed).unwrap_or(path)
}

/// A fact's words, and where it is.
pub fn fact(about: &About, fact: &Fact) -> String {
    match &fact.location {
        Some(location) => format!("{} ({})", fact.text, place(about, location)),
        None => fact.text.clone(),
    }
}

/// `batch, 92 % sure`
pub fn cause(finding: &Finding) -> String {
    if finding.confidence <= 0.0 {
        return finding.cause.id().to_owned();
    }
    format!("{}, {} sure", finding.cause.id(), percent(finding.confidence))
}

/// The message's numbers; its advice and links come after them.
pub fn message(oom: &Oom) -> Option<&str> {
    oom.message.as_ref().map(|message| message.text.as_str()).filter(|text| !text.is_empty())
}

/// `With expandable_segments:True on 24 GiB it would have survived`
pub fn what_if(what_if: &WhatIf) -> String {
    let settings = what_if.alloc_conf.as_deref().map(|conf| format!("with {conf}"));
    let memory = what_if.memory_bytes.map(|bytes| format!("on {}", Bytes(bytes)));
    let parts: Vec<String> = [settings, memory].into_iter().flatten().collect();
    let question = if parts.is_empty() { "as it was".to_owned() } else { parts.join(" ") };
    let answer = match what_if.survives {
        Some(true) => "it would have survived".to_owned(),
        Some(false) => format!("it would still have run out{}", refused(what_if)),
        None => "nobody can tell".to_owned(),
    };
    let peak = what_if.peak_reserved_bytes.map(|bytes| format!(", {} reserved at most", Bytes(bytes)));
    capital(&format!("{question} {answer}{}", peak.unwrap_or_default()))
}

fn refused(what_if: &WhatIf) -> String {
    let at = what_if.refused.map(|(request, of)| format!(" at request {request} of {of}"));
    let size = what_if.refused_bytes.map(|bytes| format!(" for {}", Bytes(bytes)));
    format!("{}{}", at.unwrap_or_default(), size.unwrap_or_default())
}
