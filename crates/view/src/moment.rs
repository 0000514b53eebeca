//! Who holds memory at one moment, and who was found by a search: allocations gathered by the line that made them.

use rustc_hash::FxHashMap;
use serde::Serialize;
use trace::{AllocationId, FrameId};

use crate::detail::{When, line};
use crate::grouping::Grouping;
use crate::layer::Layer;
use crate::series::Series;

/// More lines than this are not read.
const MOST_HOLDERS: usize = 40;

#[derive(Debug, Serialize)]
pub struct Moment<'a> {
    pub when: When,
    pub allocated: u64,
    pub reserved: u64,
    /// Bytes of each group that are selected.
    pub groups: Vec<u64>,
    /// The selection by line, largest first.
    pub holders: Vec<Holder<'a>>,
}

#[derive(Debug, Serialize)]
pub struct Found<'a> {
    pub count: usize,
    /// Of all that was found, whether it lived together or not.
    pub bytes: u64,
    /// When most of it was there, and how much.
    pub peak: When,
    pub peak_bytes: u64,
    pub holders: Vec<Holder<'a>>,
}

/// A line and what it made.
#[derive(Debug, Serialize)]
pub struct Holder<'a> {
    pub function: &'a str,
    pub file: &'a str,
    pub line: u32,
    pub module: &'a str,
    pub count: usize,
    pub bytes: u64,
    /// Of its largest allocation.
    pub id: u32,
    pub group: u8,
    pub born: When,
}

pub fn moment<'a>(series: &'a Series, grouping: &Grouping, layer: &Layer, moment: u32) -> Moment<'a> {
    let alive = |&at: &u32| layer.selected[at as usize] && series.lives.lives_at(at, moment);
    Moment {
        when: When::at(series, moment),
        allocated: series.allocated.at(moment),
        reserved: series.reserved.at(moment),
        groups: layer.sums_at(&series.lives, &grouping.of, moment),
        holders: holders(series, grouping, (0..series.lives.len() as u32).filter(alive)),
    }
}

pub fn found<'a>(series: &'a Series, grouping: &Grouping, layer: &Layer) -> Found<'a> {
    let selected = || (0..series.lives.len() as u32).filter(|&at| layer.selected[at as usize]);
    let peak = layer.totals.extremes(0..series.lives.moments).highest;
    Found {
        count: selected().count(),
        bytes: selected().map(|at| series.lives.bytes[at as usize]).sum(),
        peak: When::at(series, peak),
        peak_bytes: layer.totals.at(peak),
        holders: holders(series, grouping, selected()),
    }
}

struct Sum {
    count: usize,
    bytes: u64,
    largest: u32,
}

fn holders<'a>(series: &'a Series, grouping: &Grouping, allocations: impl Iterator<Item = u32>) -> Vec<Holder<'a>> {
    let bytes = |at: u32| series.lives.bytes[at as usize];
    let mut sums: FxHashMap<Option<FrameId>, Sum> = FxHashMap::default();
    for at in allocations {
        let site = series.sites.of_allocation(series.history(), at as usize);
        let sum = sums.entry(site).or_insert(Sum { count: 0, bytes: 0, largest: at });
        sum.count += 1;
        sum.bytes += bytes(at);
        if bytes(at) > bytes(sum.largest) {
            sum.largest = at;
        }
    }
    let mut largest: Vec<(Option<FrameId>, Sum)> = sums.into_iter().collect();
    largest.sort_unstable_by_key(|(site, sum)| (std::cmp::Reverse(sum.bytes), *site));
    largest.into_iter().take(MOST_HOLDERS).map(|(site, sum)| holder(series, grouping, site, &sum)).collect()
}

fn holder<'a>(series: &'a Series, grouping: &Grouping, site: Option<FrameId>, sum: &Sum) -> Holder<'a> {
    let blamed = site.map(|frame| line(series, frame));
    let purpose = series.history().purposes().get(AllocationId(sum.largest));
    Holder {
        function: blamed.as_ref().map_or("", |line| line.function),
        file: blamed.as_ref().map_or("", |line| line.file),
        line: blamed.as_ref().map_or(0, |line| line.line),
        module: series.recording().names.get(purpose.module),
        count: sum.count,
        bytes: sum.bytes,
        id: sum.largest,
        group: grouping.of[sum.largest as usize],
        born: When::at(series, series.lives.born[sum.largest as usize]),
    }
}
