//! Phases and steps of training, marked by the recorder or inferred from stacks.

mod inferred;
mod marked;

use crate::signs::AllSigns;
use crate::{Action, Basis, Device, EventId, Events, Recording};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    Init,
    Forward,
    Backward,
    Optimizer,
    Eval,
    Save,
}

impl Phase {
    pub const ALL: [Phase; 6] =
        [Phase::Init, Phase::Forward, Phase::Backward, Phase::Optimizer, Phase::Eval, Phase::Save];

    /// As the Python side writes it in marks and events, and as people read it.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Init => "init",
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Optimizer => "optimizer",
            Phase::Eval => "eval",
            Phase::Save => "save",
        }
    }

    pub fn from_word(word: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.word() == word)
    }
}

/// One training step: the events from `first` up to and including `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub number: u32,
    pub first: EventId,
    pub last: EventId,
}

/// Neighbouring events of one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub phase: Phase,
    pub first: EventId,
    pub last: EventId,
}

/// When what happened.
#[derive(Debug, Clone)]
pub struct Timing {
    pub basis: Basis,
    /// In order; the last one may be unfinished.
    pub steps: Vec<Step>,
    /// The phase of each event.
    pub phases: Vec<Phase>,
    /// Neither marks nor stacks nor annotations say anything: all phases are `Init` for want of a better word.
    pub known: bool,
    /// The last step's end was not recorded.
    pub unfinished: bool,
}

impl Timing {
    pub(crate) fn of(recording: &Recording, device: &Device, signs: &AllSigns) -> Timing {
        match &device.marks {
            Some(marks) if !marks.phases.is_empty() => marked::timing(recording, device, marks, signs),
            _ => inferred::timing(recording, device, signs),
        }
    }

    pub fn phase_at(&self, event: EventId) -> Phase {
        self.phases[event.index()]
    }

    pub fn step_at(&self, event: EventId) -> Option<Step> {
        let at = self.steps.partition_point(|step| step.last < event);
        self.steps.get(at).copied().filter(|step| step.first <= event)
    }

    /// The phases as runs of events, in order, without gaps.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (index, &phase) in self.phases.iter().enumerate() {
            let event = EventId::from_index(index);
            match runs.last_mut() {
                Some(run) if run.phase == phase => run.last = event,
                _ => runs.push(Run { phase, first: event, last: event }),
            }
        }
        runs
    }
}

/// A phase begins with an allocation, and with the segment that is made for it; frees belong to what came before.
fn begins(action: Action) -> bool {
    matches!(action, Action::Alloc | Action::Oom)
}

/// Gives every event the phase of the allocation before it, from `phase_of` each allocation. An optimizer that
/// allocates nothing is seen by what is freed: `stepped` says that it was at work by then.
fn spread(
    events: &Events,
    mut phase_of: impl FnMut(EventId) -> Phase,
    stepped: impl Fn(EventId) -> bool,
) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::with_capacity(events.len());
    let mut now = Phase::Init;
    let mut waiting: usize = 0;
    for id in events.ids() {
        let action = events.action(id);
        if begins(action) {
            now = phase_of(id);
            let at = phases.len();
            phases[at - waiting..].fill(now);
        } else if now == Phase::Backward && action == Action::FreeRequested && stepped(id) {
            now = Phase::Optimizer;
        }
        waiting = if is_for_next(action) { waiting + 1 } else { 0 };
        phases.push(now);
    }
    phases
}

fn is_for_next(action: Action) -> bool {
    matches!(action, Action::SegmentAlloc | Action::SegmentMap)
}

/// Cuts the events into steps. `ends`: the last event of each finished step, ascending, with the step's number.
fn steps(events: &Events, phases: &[Phase], ends: &[(u32, EventId)]) -> (Vec<Step>, bool) {
    let Some(began) = phases.iter().position(|&phase| phase != Phase::Init) else { return (Vec::new(), false) };
    let mut first = EventId::from_index(began);
    let mut steps: Vec<Step> = Vec::new();
    for &(number, last) in ends.iter().filter(|(_, last)| last.index() >= began) {
        if last < first {
            continue;
        }
        steps.push(Step { number, first, last });
        first = EventId::from_index(last.index() + 1);
    }
    let rest = (first.index()..events.len()).map(EventId::from_index);
    let unfinished = rest.into_iter().any(|id| begins(events.action(id)) && phases[id.index()] != Phase::Save);
    if unfinished {
        let number = steps.last().map_or(1, |step| step.number.saturating_add(1));
        steps.push(Step { number, first, last: EventId::from_index(events.len() - 1) });
    }
    (steps, unfinished)
}
