//! One device of one run, prepared for drawing.

use std::sync::Arc;

use trace::{Device, Events, Phase, Recording, Step};

use crate::Run;
use crate::axis::{Axis, AxisKind};
use crate::grouping::{self, Grouping, Scene};
use crate::layer::Layer;
use crate::lives::{Lives, after};
use crate::pyramid::Pyramid;
use crate::site::Sites;

#[derive(Debug)]
pub struct Series {
    pub run: Arc<Run>,
    /// Index of the run among those on show.
    pub run_number: usize,
    /// Index into the recording's devices.
    pub device: usize,
    pub lives: Lives,
    /// Bytes allocated and reserved at each moment.
    pub allocated: Pyramid,
    pub reserved: Pyramid,
    pub axes: Vec<Axis>,
    pub groupings: Vec<Grouping>,
    pub sites: Arc<Sites>,
    /// The first moment with the most allocated.
    pub peak: u32,
}

/// What all series on show have in common.
#[derive(Debug, Clone, Copy)]
pub struct Together {
    pub runs: usize,
    /// The lowest number of a first step.
    pub first_step: u32,
}

impl Together {
    pub fn of(runs: &[Arc<Run>]) -> Together {
        let histories = runs.iter().flat_map(|run| &run.histories);
        let first_step = histories.filter_map(|history| history.timing().steps.first()).map(|step| step.number).min();
        Together { runs: runs.len(), first_step: first_step.unwrap_or(0) }
    }
}

impl Series {
    pub fn new(run: Arc<Run>, run_number: usize, device: usize, sites: Arc<Sites>, together: Together) -> Series {
        let (recording, history) = (&run.recording, &run.histories[device]);
        let events = &recording.devices[device].events;
        let lives = Lives::of(history, events.len());
        let everything = Layer::new(&lives, &vec![0; lives.len()], 1, vec![true; lives.len()]);
        let peak = everything.totals.extremes(0..lives.moments).highest;
        let reserved =
            [history.reserved_before_all()].into_iter().chain(events.ids().map(|id| history.reserved_after(id)));
        let reserved = Pyramid::new(reserved.collect());
        let scene = Scene { recording, history, lives: &lives, sites: &sites, peak };
        let groupings = grouping::all(&scene);
        let axes = axes(events, &history.timing().steps, lives.moments, together);
        Series { run, run_number, device, allocated: everything.totals, reserved, axes, groupings, sites, peak, lives }
    }

    pub fn recording(&self) -> &Recording {
        &self.run.recording
    }

    pub fn history(&self) -> &trace::History {
        &self.run.histories[self.device]
    }

    pub fn device(&self) -> &Device {
        &self.recording().devices[self.device]
    }

    pub fn events(&self) -> &Events {
        &self.device().events
    }

    /// The phase of each event; none where nothing is known about them.
    pub fn phases(&self) -> &[Phase] {
        let timing = self.history().timing();
        if timing.known { &timing.phases } else { &[] }
    }

    pub fn axis(&self, kind: AxisKind) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.kind == kind)
    }

    pub fn grouping(&self, id: &str) -> Option<&Grouping> {
        self.groupings.iter().find(|grouping| grouping.id == id)
    }

    /// The step during which a moment was, if any.
    pub fn step_at(&self, moment: u32) -> Option<&Step> {
        let steps = &self.history().timing().steps;
        let next = steps.partition_point(|step| after(step.first) <= moment);
        next.checked_sub(1).map(|at| &steps[at]).filter(|step| moment <= after(step.last))
    }
}

fn axes(events: &Events, steps: &[Step], moments: u32, together: Together) -> Vec<Axis> {
    let time = Axis::by_time(events, together.runs == 1);
    let steps = Axis::by_steps(steps, together.first_step, moments);
    [Some(Axis::by_events(moments)), time, steps].into_iter().flatten().collect()
}
