//! `outside-allocator`: this process itself holds or wants memory that PyTorch's allocator does not know.

use trace::Refuser;

use crate::causes::{finding, percent, said, size};
use crate::facts::message::Account;
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding};

/// A context with its libraries is below this (518 to 645 MiB measured on an H200).
const USUAL_CONTEXT: u64 = 2 << 30;
/// What cuBLAS gets for a workspace on compute 9.0 (`CUDABlas.cpp`, `_parseChosenWorkspaceSize`).
const HOPPER_WORKSPACE: u64 = 33_554_432;
/// The smallest memory of a Hopper card: H100 80 GB, 79.1 GiB usable.
const LEAST_HOPPER: u64 = 84_900_000_000;

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    bare_error(facts).or_else(|| in_message(facts)).or_else(|| in_trace(facts))
}

/// The error is not of PyTorch's allocator at all.
fn bare_error(facts: &Facts<'_>) -> Option<Finding> {
    let account = Account::of(facts.evidence.crash?);
    if !account.bare() {
        return None;
    }
    let who = match account.message.refuser {
        Refuser::Nccl => "NCCL",
        Refuser::Cublas => "cuBLAS",
        Refuser::Cudnn => "cuDNN",
        _ => "a CUDA call outside of PyTorch's allocator",
    };
    let mut evidence = vec![said(format!("the error is not PyTorch's own: {}", first_words(&account.message.text)))];
    let place = facts.evidence.crash.and_then(|crash| crash.place()).map(super::traceback::location);
    evidence.extend(place.map(|place| said("raised from here").at(Some(place))));
    evidence.extend(
        facts
            .traced
            .as_ref()
            .map(|traced| said("PyTorch's allocator held").bytes(traced.history.reserved_after(traced.at))),
    );
    finding(Cause::OutsideAllocator, 0.85, format!("{who} asked the driver for memory and got none"), evidence)
}

fn first_words(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(100).collect()
}

/// The message says what this process holds beside PyTorch's cache.
fn in_message(facts: &Facts<'_>) -> Option<Finding> {
    let account = Account::of(facts.evidence.crash?);
    let (outside, total) = (account.message.outside()?, account.total()?);
    let share = outside.bytes as f64 / total as f64;
    if account.limited() || outside.low() < USUAL_CONTEXT || share < 0.1 {
        return None;
    }
    let mut evidence = vec![
        said("this process holds outside PyTorch's allocator: context, NCCL, other libraries").bytes(outside.bytes),
        said("a context usually takes less than").bytes(USUAL_CONTEXT),
        said("the card has").bytes(total),
    ];
    evidence.extend(super::refusal(facts));
    let summary = format!(
        "this process holds {} of the card's {} ({}) outside PyTorch's allocator",
        size(outside.bytes),
        size(total),
        percent(share)
    );
    finding(Cause::OutsideAllocator, (0.7 + share * 0.3).min(0.97), summary, evidence)
}

/// Without a message, nobody can say whose it is: named second to another process.
fn in_trace(facts: &Facts<'_>) -> Option<Finding> {
    let traced = facts.traced.as_ref()?;
    let room = traced.room.filter(|room| room.device_full())?;
    let foreign = least_card(traced)?.checked_sub(room.reserved.saturating_add(room.device_free))?;
    if foreign < USUAL_CONTEXT * 4 {
        return None;
    }
    let evidence = vec![
        said("free on the card when the request was refused").bytes(room.device_free),
        said("reserved by PyTorch in this process").bytes(room.reserved),
        said("a snapshot does not say whose the rest is: the error message does"),
    ];
    let summary = format!("at least {} of the card is outside PyTorch's allocator", size(foreign));
    finding(Cause::OutsideAllocator, 0.6, summary, evidence)
}

/// What the card has at least: as the recorder wrote it down, or by the kind that the workspaces show.
pub(super) fn least_card(traced: &Traced<'_>) -> Option<u64> {
    let hopper = || {
        let mut events = traced.device.events.iter();
        events.any(|(_, event)| event.size == HOPPER_WORKSPACE && traced.readings.get(event.stack).scratch)
    };
    traced.recording.gpu_bytes.or_else(|| hopper().then_some(LEAST_HOPPER))
}
