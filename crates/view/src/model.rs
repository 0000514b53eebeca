//! The overview that the page asks for first: what there is to see.

use serde::Serialize;
use trace::{Basis, EventId};

use crate::axis::{Axis, AxisKind, Pause};
use crate::detail::When;
use crate::grouping::Group;
use crate::lives::after;
use crate::series::Series;
use crate::tile::COLUMNS;

#[derive(Debug, Serialize)]
pub struct Model<'a> {
    pub schema: u32,
    pub columns: u64,
    pub series: Vec<Overview<'a>>,
}

#[derive(Debug, Serialize)]
pub struct Overview<'a> {
    pub run: usize,
    pub name: &'a str,
    pub device: u32,
    pub events: usize,
    pub allocations: usize,
    /// The whole life of the process was recorded.
    pub exact: bool,
    pub torch: Option<&'a str>,
    pub peak: Peak,
    pub limit: Option<Limit<'a>>,
    /// Refused allocations, the last one first.
    pub refused: Vec<Refused>,
    pub groupings: Vec<Colours<'a>>,
    pub axes: Vec<AxisFacts<'a>>,
    pub steps: Steps,
    pub warnings: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
pub struct Peak {
    pub when: When,
    pub allocated: u64,
    pub reserved: u64,
}

/// What the card holds.
#[derive(Debug, Serialize)]
pub struct Limit<'a> {
    pub name: Option<&'a str>,
    pub bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Refused {
    pub when: When,
    pub bytes: u64,
    pub line: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Colours<'a> {
    pub id: &'a str,
    pub marked: Option<bool>,
    pub groups: &'a [Group],
}

#[derive(Debug, Serialize)]
pub struct AxisFacts<'a> {
    pub id: AxisKind,
    pub extent: u64,
    pub pauses: &'a [Pause],
    /// Where each step begins.
    pub steps: Vec<u64>,
}

#[derive(Debug, Serialize)]
pub struct Steps {
    pub inferred: bool,
    pub numbers: Vec<u32>,
    pub moments: Vec<u32>,
}

/// A file may have thousands of refusals that were survived; nobody looks at more.
const MOST_REFUSALS: usize = 50;

pub fn model<'a>(series: &'a [Series]) -> Model<'a> {
    Model { schema: 1, columns: COLUMNS, series: series.iter().map(overview).collect() }
}

fn overview(series: &Series) -> Overview<'_> {
    let (recording, history) = (series.recording(), series.history());
    Overview {
        run: series.run_number,
        name: &series.run.name,
        device: series.device().index,
        events: series.events().len(),
        allocations: series.lives.len(),
        exact: history.exact(),
        torch: recording.torch.as_deref(),
        peak: peak(series),
        limit: limit(series),
        refused: history.ooms().iter().rev().take(MOST_REFUSALS).map(|&event| refused(series, event)).collect(),
        groupings: series
            .groupings
            .iter()
            .map(|it| Colours { id: it.id, marked: it.marked, groups: &it.groups })
            .collect(),
        axes: series.axes.iter().map(|axis| axis_facts(series, axis)).collect(),
        steps: steps(series),
        warnings: recording.warnings.iter().chain(history.warnings()).map(|warning| warning.text.as_str()).collect(),
    }
}

fn peak(series: &Series) -> Peak {
    let reserved = series.reserved.extremes(0..series.lives.moments).highest;
    Peak {
        when: When::at(series, series.peak),
        allocated: series.allocated.at(series.peak),
        reserved: series.reserved.at(reserved),
    }
}

fn limit(series: &Series) -> Option<Limit<'_>> {
    if let Some(bytes) = series.run.limit {
        return Some(Limit { name: None, bytes });
    }
    series.recording().gpu_bytes.map(|bytes| Limit { name: series.recording().gpu.as_deref(), bytes })
}

fn refused(series: &Series, event: EventId) -> Refused {
    let row = series.events().get(event);
    let line = series.sites.of_stack(row.stack).map(|frame| crate::detail::line(series, frame));
    Refused {
        when: When::at(series, after(event)),
        bytes: row.size,
        line: line.map(|line| format!("{}:{} {}", line.file, line.line, line.function)),
    }
}

fn axis_facts<'a>(series: &'a Series, axis: &'a Axis) -> AxisFacts<'a> {
    let steps = series.history().timing().steps.iter().map(|step| axis.position(after(step.first))).collect();
    AxisFacts { id: axis.kind, extent: axis.extent(), pauses: &axis.pauses, steps }
}

fn steps(series: &Series) -> Steps {
    let timing = series.history().timing();
    Steps {
        inferred: timing.basis == Basis::Inferred,
        numbers: timing.steps.iter().map(|step| step.number).collect(),
        moments: timing.steps.iter().map(|step| after(step.first)).collect(),
    }
}
