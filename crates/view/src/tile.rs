//! A tile: 256 columns of the picture at one zoom level, with everything the page needs to draw and to answer a pointer.
//!
//! A column covers `2^level` units of the axis. It shows the moment in it at which the selection was largest, so what
//! is drawn was really there together, and the top of the picture is exact at every zoom. Allocations that are tall
//! enough to be seen are *lanes*, the rest of each group is one sum.
//!
//! # Bytes of a tile (little-endian)
//!
//! | what | type and count |
//! |---|---|
//! | version (1), columns C, groups G, lanes L | 4 × u32 |
//! | seconds since the first event, NaN if unknown | f64 × C |
//! | lowest bytes of the selection in the column | f32 × C |
//! | highest bytes allocated, whatever is selected | f32 × C |
//! | highest bytes reserved | f32 × C |
//! | bytes of each group that are in no lane | f32 × G × C, one group after the other |
//! | moment shown | u32 × C |
//! | bytes of each lane | f32 × L |
//! | allocation of each lane | u32 × L |
//! | first column of each lane, and the one after its last | u16 × L, u16 × L |
//! | group of each lane | u8 × L |
//! | phase of each column, 255 if unknown | u8 × C |
//!
//! Lanes are in the order in which they are stacked: by group, then by birth.

use crate::axis::{Axis, seconds_at};
use crate::grouping::Grouping;
use crate::layer::Layer;
use crate::lives::event_before;
use crate::series::Series;

pub const COLUMNS: u64 = 256;

/// More lanes than this are not seen as lanes.
const MOST_LANES: usize = 3_000;

const VERSION: u32 = 1;
const NO_PHASE: u8 = 255;

/// Which part of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// A column is `2^level` units wide.
    pub level: u32,
    /// The tile's number at that level, from the left.
    pub index: u64,
    /// Allocations below this many bytes are not told apart.
    pub floor: u64,
}

#[derive(Debug, Default, PartialEq)]
pub struct Tile {
    pub moments: Vec<u32>,
    pub seconds: Vec<f64>,
    pub low: Vec<u64>,
    pub allocated: Vec<u64>,
    pub reserved: Vec<u64>,
    pub phases: Vec<u8>,
    /// One row of columns per group.
    pub rest: Vec<Vec<u64>>,
    pub lanes: Vec<Lane>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    pub allocation: u32,
    pub group: u8,
    pub bytes: u64,
    pub first: u16,
    pub end: u16,
}

impl Tile {
    pub fn new(series: &Series, grouping: &Grouping, layer: &Layer, axis: &Axis, place: Place) -> Tile {
        let mut tile = Tile::default();
        for column in columns(axis, place) {
            tile.push_column(series, layer, axis.moments_in(column));
        }
        tile.lanes = lanes(series, grouping, layer, &tile.moments, place.floor);
        tile.rest = rest(series, grouping, layer, &tile.moments, &tile.lanes);
        tile
    }

    fn push_column(&mut self, series: &Series, layer: &Layer, moments: std::ops::Range<u32>) {
        let selection = layer.totals.extremes(moments.clone());
        self.moments.push(selection.highest);
        self.low.push(layer.totals.at(selection.lowest));
        self.allocated.push(series.allocated.at(series.allocated.extremes(moments.clone()).highest));
        self.reserved.push(series.reserved.at(series.reserved.extremes(moments).highest));
        self.seconds.push(seconds_at(series.events(), selection.highest).unwrap_or(f64::NAN));
        let phase = event_before(selection.highest).and_then(|event| series.phases().get(event.index()));
        self.phases.push(phase.map_or(NO_PHASE, |&phase| phase as u8));
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32 + self.moments.len() * 64 + self.lanes.len() * 16);
        let header = [VERSION, self.moments.len() as u32, self.rest.len() as u32, self.lanes.len() as u32];
        header.iter().for_each(|number| out.extend(number.to_le_bytes()));
        self.seconds.iter().for_each(|value| out.extend(value.to_le_bytes()));
        let sums = [&self.low, &self.allocated, &self.reserved].into_iter().chain(&self.rest).flatten();
        sums.for_each(|&value| out.extend((value as f32).to_le_bytes()));
        self.moments.iter().for_each(|value| out.extend(value.to_le_bytes()));
        self.lanes.iter().for_each(|lane| out.extend((lane.bytes as f32).to_le_bytes()));
        self.lanes.iter().for_each(|lane| out.extend(lane.allocation.to_le_bytes()));
        self.lanes.iter().for_each(|lane| out.extend(lane.first.to_le_bytes()));
        self.lanes.iter().for_each(|lane| out.extend(lane.end.to_le_bytes()));
        out.extend(self.lanes.iter().map(|lane| lane.group));
        out.extend(&self.phases);
        out
    }
}

/// The unit ranges of the columns; the last tile has fewer, and there is none past the end.
fn columns(axis: &Axis, place: Place) -> impl Iterator<Item = std::ops::Range<u64>> {
    let width = 1_u64 << place.level;
    let all = axis.extent().div_ceil(width);
    let first = place.index.saturating_mul(COLUMNS).min(all);
    let last = first.saturating_add(COLUMNS).min(all);
    (first..last).map(move |column| column * width..(column + 1) * width)
}

/// The largest selected allocations that are alive at the moments of some columns.
fn lanes(series: &Series, grouping: &Grouping, layer: &Layer, moments: &[u32], floor: u64) -> Vec<Lane> {
    let (Some(&first), Some(&last)) = (moments.first(), moments.last()) else { return Vec::new() };
    let lives = &series.lives;
    let tall = lives.by_size().iter().take_while(|&&at| lives.bytes[at as usize] >= floor.max(1));
    let seen = tall.filter(|&&at| {
        layer.selected[at as usize] && lives.born[at as usize] <= last && lives.died[at as usize] > first
    });
    let spans = seen.filter_map(|&at| {
        let start = moments.partition_point(|&moment| moment < lives.born[at as usize]);
        let end = moments.partition_point(|&moment| moment < lives.died[at as usize]);
        (start < end).then_some(Lane {
            allocation: at,
            group: grouping.of[at as usize],
            bytes: lives.bytes[at as usize],
            first: start as u16,
            end: end as u16,
        })
    });
    let mut lanes: Vec<Lane> = spans.take(MOST_LANES).collect();
    lanes.sort_unstable_by_key(|lane| (lane.group, lives.born[lane.allocation as usize], lane.allocation));
    lanes
}

/// What the groups hold beside their lanes.
fn rest(series: &Series, grouping: &Grouping, layer: &Layer, moments: &[u32], lanes: &[Lane]) -> Vec<Vec<u64>> {
    let mut rest = vec![vec![0; moments.len()]; grouping.groups.len()];
    for (column, &moment) in moments.iter().enumerate() {
        for (group, bytes) in layer.sums_at(&series.lives, &grouping.of, moment).into_iter().enumerate() {
            rest[group][column] = bytes;
        }
    }
    for lane in lanes {
        for bytes in &mut rest[usize::from(lane.group)][usize::from(lane.first)..usize::from(lane.end)] {
            *bytes -= lane.bytes;
        }
    }
    rest
}
