//! Everything about one allocation, for the pointer and the side panel.

use serde::Serialize;
use trace::{AllocationId, Basis, FrameId, StackId};

use crate::axis::{AxisKind, seconds_at};
use crate::lives::event_before;
use crate::series::Series;

#[derive(Debug, Serialize)]
pub struct Detail<'a> {
    #[serde(flatten)]
    pub facts: Facts<'a>,
    /// Innermost first.
    pub stack: Vec<Line<'a>>,
}

/// All but the stack, which many allocations share.
#[derive(Debug, Serialize)]
pub struct Facts<'a> {
    pub id: u32,
    pub bytes: u64,
    pub requested: u64,
    /// Hexadecimal: a browser's numbers end at 2^53.
    pub address: String,
    pub stream: String,
    pub pool: Option<String>,
    pub small: bool,
    pub category: &'static str,
    pub inferred: bool,
    pub module: &'a str,
    pub born: Option<When>,
    pub died: Option<When>,
    /// The line to blame, as an index into the stack.
    pub site: Option<usize>,
}

/// A moment, in all the ways to say it.
#[derive(Debug, Serialize)]
pub struct When {
    pub moment: u32,
    pub seconds: Option<f64>,
    pub step: Option<u32>,
    pub phase: Option<&'static str>,
    pub position: Vec<(AxisKind, u64)>,
}

#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Line<'a> {
    pub function: &'a str,
    pub file: &'a str,
    pub line: u32,
    pub own: bool,
}

impl When {
    pub fn at(series: &Series, moment: u32) -> When {
        let phase = event_before(moment).and_then(|event| series.phases().get(event.index()));
        When {
            moment,
            seconds: seconds_at(series.events(), moment),
            step: series.step_at(moment).map(|step| step.number),
            phase: phase.map(|phase| phase.word()),
            position: series.axes.iter().map(|axis| (axis.kind, axis.position(moment))).collect(),
        }
    }
}

/// None where there is no such allocation.
pub fn detail(series: &Series, id: u32) -> Option<Detail<'_>> {
    let stack = stack_of(series, id)?;
    Some(Detail { facts: facts(series, id)?, stack: lines(series, stack) })
}

pub fn stack_of(series: &Series, id: u32) -> Option<StackId> {
    ((id as usize) < series.lives.len()).then(|| series.history().allocations().stack(AllocationId(id)))
}

pub fn facts(series: &Series, id: u32) -> Option<Facts<'_>> {
    let at = id as usize;
    let allocation = (at < series.lives.len()).then(|| series.history().allocations().get(AllocationId(id)))?;
    let purpose = series.history().purposes().get(AllocationId(id));
    let (born, died) = (series.lives.born[at], series.lives.died[at]);
    Some(Facts {
        id,
        bytes: allocation.size,
        requested: allocation.requested,
        address: format!("{:#x}", allocation.address),
        stream: format!("{:#x}", series.events().stream_handle(allocation.stream)),
        pool: (allocation.pool != (0, 0)).then(|| format!("{}.{}", allocation.pool.0, allocation.pool.1)),
        small: allocation.small,
        category: purpose.category.word(),
        inferred: purpose.basis == Basis::Inferred,
        module: series.recording().names.get(purpose.module),
        born: (born > 0).then(|| When::at(series, born)),
        died: (died < series.lives.moments).then(|| When::at(series, died)),
        site: site(series, allocation.stack),
    })
}

fn site(series: &Series, stack: StackId) -> Option<usize> {
    let blamed = series.sites.of_stack(stack)?;
    series.recording().stacks.get(stack).iter().position(|&frame| frame == blamed)
}

fn lines(series: &Series, stack: StackId) -> Vec<Line<'_>> {
    series.recording().stacks.get(stack).iter().map(|&frame| line(series, frame)).collect()
}

pub fn line(series: &Series, frame: FrameId) -> Line<'_> {
    let recording = series.recording();
    let (function, file, line) = trace::frame_text(&recording.names, &recording.frames, frame);
    Line { function, file, line, own: series.sites.is_users_own(frame) }
}
