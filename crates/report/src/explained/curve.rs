//! Memory over time, thinned to what a picture can show.

use trace::{EventId, History};

/// Allocated and reserved bytes over the events of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    pub points: Vec<Point>,
    /// From 0, the first event, to 1.
    pub oom: Option<f64>,
    /// Where steps end.
    pub steps: Vec<f64>,
}

/// The most within one slice of the events, so that no peak is lost by thinning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub at: f64,
    pub allocated_bytes: u64,
    pub reserved_bytes: u64,
}

impl Curve {
    pub fn of(history: &History, events: usize, points: usize) -> Option<Curve> {
        if events == 0 {
            return None;
        }
        let at = |index: usize| index as f64 / events as f64;
        let slices = points.min(events);
        let slice = |n: usize| n * events / slices..(n + 1) * events / slices;
        let point = |n: usize| {
            let most = |of: &dyn Fn(EventId) -> u64| slice(n).map(|index| of(EventId::from_index(index))).max();
            Point {
                at: at(slice(n).end),
                allocated_bytes: most(&|id| history.allocated_after(id)).unwrap_or(0),
                reserved_bytes: most(&|id| history.reserved_after(id)).unwrap_or(0),
            }
        };
        Some(Curve {
            points: (0..slices).map(point).collect(),
            oom: history.oom().map(|id| at(id.index() + 1)),
            steps: history.timing().steps.iter().map(|step| at(step.last.index() + 1)).collect(),
        })
    }

    pub fn most(&self) -> u64 {
        self.points.iter().map(|point| point.reserved_bytes.max(point.allocated_bytes)).max().unwrap_or(0)
    }
}
