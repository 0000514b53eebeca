//! `fragmentation`: enough is free, but not in one piece.

use crate::causes::{finding, percent, said, size};
use crate::facts::message::Account;
use crate::facts::room::Room;
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding};

/// Every run has some holes; from this share of what is reserved they are the story.
const MANY_HOLES: f64 = 0.12;
/// Holes of this share are a cause even where nobody can say what would have fitted without them.
const MOSTLY_HOLES: f64 = 0.35;

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    match &facts.traced {
        Some(traced) => in_trace(traced),
        None => in_message(facts),
    }
}

fn in_trace(traced: &Traced<'_>) -> Option<Finding> {
    let room = traced.room?;
    let share = room.free as f64 / room.reserved.max(1) as f64;
    if room.largest_free >= room.requested || room.largest_elsewhere >= room.requested {
        return None;
    }
    let confidence = confidence(&room, share)?;
    let evidence = vec![
        said("free inside what PyTorch holds").bytes(room.free),
        said("the largest piece of it").bytes(room.largest_free),
        said("the request that was refused").bytes(room.requested).at(traced.oom_location()),
        said("reserved by PyTorch").bytes(room.reserved),
    ];
    finding(Cause::Fragmentation, confidence, summary(&room, share), evidence)
}

/// The fuller the card would have been without holes, the less they matter: it would have died a little later.
fn confidence(room: &Room, share: f64) -> Option<f64> {
    match room.unbroken() {
        _ if share < MANY_HOLES => (room.free >= room.requested).then_some(0.2 + share),
        full if full <= 1.0 => Some((0.97 - (full - 0.7).max(0.0) * 2.0).max(0.3)),
        _ if share >= MOSTLY_HOLES => Some(0.78),
        _ => None,
    }
}

fn summary(room: &Room, share: f64) -> String {
    format!(
        "{} is free ({} of what PyTorch holds), but the largest piece is {} and {} was asked for",
        size(room.free),
        percent(share),
        size(room.largest_free),
        size(room.requested)
    )
}

/// After a refusal PyTorch has given back all it could: what is still reserved and unused is pieces.
fn in_message(facts: &Facts<'_>) -> Option<Finding> {
    let account = Account::of(facts.evidence.crash?);
    let message = account.message;
    let (cached, requested, reserved) = (message.cached()?, message.requested?, message.reserved()?);
    let cached = cached.minus(message.private_pools.unwrap_or_default());
    let share = cached.bytes as f64 / reserved.bytes.max(1) as f64;
    if cached.high() < requested.low() || share < MANY_HOLES {
        return None;
    }
    let evidence = vec![
        said("reserved by PyTorch but unallocated").bytes(cached.bytes),
        said("the request that was refused").bytes(requested.bytes),
    ];
    let summary = format!(
        "{} is reserved and unused, more than the {} that was asked for: it is in pieces",
        size(cached.bytes),
        size(requested.bytes)
    );
    finding(Cause::Fragmentation, (0.55 + share * 0.4).min(0.85), summary, evidence)
}
