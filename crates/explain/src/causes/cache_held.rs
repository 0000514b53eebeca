//! `cache-held`: PyTorch holds memory that nothing uses and that nobody else may have.

use crate::causes::{finding, percent, said, size};
use crate::facts::message::Account;
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding, Moment};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    match &facts.traced {
        Some(traced) => elsewhere(traced).or_else(|| unused(facts, traced)),
        None => in_message(facts),
    }
}

/// Room that was there, for another stream or in another pool.
fn elsewhere(traced: &Traced<'_>) -> Option<Finding> {
    let room = traced.room?;
    let share = room.elsewhere as f64 / room.reserved.max(1) as f64;
    let enough = room.largest_elsewhere >= room.requested || room.elsewhere >= room.requested;
    if share < 0.2 || (!enough && share < 0.35) {
        return None;
    }
    let whose =
        if room.private * 2 > room.elsewhere { "a private pool (a CUDA graph or a MemPool)" } else { "another stream" };
    let evidence = vec![
        said(format!("free, but kept for {whose}")).bytes(room.elsewhere),
        said("the largest piece of it").bytes(room.largest_elsewhere),
        said("the request that was refused").bytes(room.requested).at(traced.oom_location()),
    ];
    let summary =
        format!("{} ({} of what PyTorch holds) is unused, but kept for {whose}", size(room.elsewhere), percent(share));
    finding(Cause::CacheHeld, (0.82 + share * 0.2).min(0.97), summary, evidence)
}

/// No request of PyTorch's was refused, and most of what it reserved is cache: someone else went without.
fn unused(facts: &Facts<'_>, traced: &Traced<'_>) -> Option<Finding> {
    if traced.moment != Moment::End {
        return None;
    }
    let (allocated, reserved) = (traced.history.allocated_after(traced.at), traced.history.reserved_after(traced.at));
    let cached = reserved.saturating_sub(allocated);
    let bare = facts.evidence.crash.is_some_and(|crash| Account::of(crash).bare());
    let share = cached as f64 / reserved.max(1) as f64;
    let last = traced.main_reserve();
    let mut evidence = vec![
        said("reserved by PyTorch at the end").bytes(reserved),
        said("of it in use").bytes(allocated),
        said("PyTorch gives its cache back only for its own requests: another library or process cannot have it"),
    ];
    evidence
        .extend(last.map(|(location, bytes)| said("most of it was first needed here").bytes(bytes).at(Some(location))));
    let summary =
        format!("PyTorch keeps {} ({} of what it reserved) in its cache, unused", size(cached), percent(share));
    let confidence = if bare { 0.93 } else { 0.55 };
    finding(Cause::CacheHeld, confidence, summary, evidence)
}

fn in_message(facts: &Facts<'_>) -> Option<Finding> {
    let message = Account::of(facts.evidence.crash?).message;
    let (private, reserved) = (message.private_pools?, message.reserved()?);
    let share = private.bytes as f64 / reserved.bytes.max(1) as f64;
    if share < 0.2 {
        return None;
    }
    let evidence = vec![said("free inside private pools, such as those of CUDA graphs").bytes(private.bytes)];
    let summary = format!("{} is unused, but kept in private pools", size(private.bytes));
    finding(Cause::CacheHeld, (0.7 + share * 0.3).min(0.95), summary, evidence)
}

impl Traced<'_> {
    /// The line that made PyTorch reserve most of what it still holds.
    fn main_reserve(&self) -> Option<(crate::Location, u64)> {
        let mut by_line = std::collections::BTreeMap::new();
        for (_, event) in self.device.events.iter().take_while(|(id, _)| *id <= self.at) {
            if !matches!(event.action, trace::Action::SegmentAlloc | trace::Action::SegmentMap) {
                continue;
            }
            if let Some(frame) = self.readings.get(event.stack).user {
                *by_line.entry(crate::facts::stacks::location(self.recording, frame)).or_insert(0) += event.size;
            }
        }
        by_line.into_iter().max_by_key(|(_, bytes)| *bytes)
    }
}
