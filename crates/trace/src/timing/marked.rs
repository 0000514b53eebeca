//! Phases and steps as the recorder marked them: exact, counted in allocations.

use crate::marks::Ordinals;
use crate::signs::AllSigns;
use crate::timing::{Phase, Timing, inferred, spread, steps};
use crate::{Action, Basis, Device, EventId, Marks, Recording, Span};

pub(super) fn timing(recording: &Recording, device: &Device, marks: &Marks, signs: &AllSigns) -> Timing {
    let events = &device.events;
    let ordinals = Ordinals::of(events, marks);
    let mut spans = marks.phases.clone();
    spans.sort_by_key(|span| (span.first, span.last));
    // Older recorders marked backward passes and optimizers only: stacks tell what lies between.
    let between = (!covers(&spans, ordinals.before_all(), marks.allocations))
        .then(|| inferred::timing(recording, device, signs).phases);
    let last_oom = events.ids().rev().find(|&id| events.action(id) == Action::Oom);
    let told = recording.oom.as_ref().and_then(|oom| oom.phase);
    let mut made = ordinals.before_all();
    let allocated = |id: EventId| {
        let refused = events.action(id) == Action::Oom;
        if refused
            && Some(id) == last_oom
            && let Some(phase) = told
        {
            return phase;
        }
        made += u64::from(!refused);
        let marked = if refused { open_at(&spans, made) } else { phase_of(&spans, made) };
        marked.unwrap_or_else(|| between.as_ref().map_or(Phase::Init, |phases| phases[id.index()]))
    };
    let drops = |id| signs.get(events.stack(id)).drops_gradients();
    let phases = spread(events, allocated, drops);
    let ends: Vec<(u32, EventId)> =
        marks.steps.iter().filter_map(|step| Some((step.step, ordinals.last_event_of(step.ordinal)?))).collect();
    let (steps, unfinished) = steps(events, &phases, &ends);
    Timing { basis: Basis::Marked, steps, phases, known: true, unfinished }
}

/// Whether every allocation after the first `before` is in a span.
fn covers(spans: &[Span], before: u64, total: u64) -> bool {
    let reached =
        spans.iter().fold(before, |reached, span| if span.first <= reached { reached.max(span.last) } else { reached });
    reached >= total
}

/// The phase of the n-th allocation. Spans do not overlap but for what a refusal left open, so few are looked at.
fn phase_of(spans: &[Span], ordinal: u64) -> Option<Phase> {
    let begun = spans.partition_point(|span| span.first < ordinal);
    spans[..begun].iter().rev().take(8).find(|span| ordinal <= span.last).map(|span| span.phase)
}

/// The phase of something refused when n allocations had been made: the newest span that had begun and not ended.
fn open_at(spans: &[Span], made: u64) -> Option<Phase> {
    let begun = spans.partition_point(|span| span.first <= made);
    spans[..begun].iter().rev().take(8).find(|span| made <= span.last).map(|span| span.phase)
}
