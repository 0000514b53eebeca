//! The page as one file that opens offline, with the answers to the questions it is most likely to ask.
//!
//! Instead of a server it has a *store*: answers by question, compressed. Finer zoom levels, small allocations and maps
//! of most moments are left out; the page says so where it matters.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use trace::{FrameId, StackId};

use crate::axis::{Axis, AxisKind};
use crate::detail::{Facts, Line, facts, line, stack_of};
use crate::grouping::Grouping;
use crate::layer::Layer;
use crate::series::Series;
use crate::tile::{COLUMNS, Place, Tile};
use crate::view::{View, coarsest};
use crate::{map, model, moment, page};

/// Columns of the finest level that is kept.
const MOST_COLUMNS: u64 = 4_096;
/// An allocation is kept if it is at least this part of the peak.
const FLOOR_PART: u64 = 600;
const MOST_ALLOCATIONS: usize = 5_000;
/// Pieces of a map smaller than this part of all memory are not told apart.
const MAP_PART: u64 = 20_000;

const STYLE_LINK: &str = "<link rel=\"stylesheet\" href=\"style.css\">";
const SCRIPT_LINK: &str = "<script type=\"module\" src=\"page.js\"></script>";
/// Nothing may be loaded from anywhere: the file is whole.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; \
                      style-src 'unsafe-inline'; img-src data: blob:\">";

impl View {
    /// The whole page with a reduced model inside.
    pub fn save(&self) -> String {
        let mut store = Store::default();
        store.put_json("model".into(), &model::model(&self.series));
        for (number, series) in self.series.iter().enumerate() {
            self.save_series(number, series, &mut store);
        }
        let data = format!("<script type=\"text/plain\" id=\"store\">{}</script>", store.packed());
        let script = format!("{data}\n<script type=\"module\">\n{}</script>", page::script());
        let style = format!("{POLICY}\n<style>\n{}</style>", page::STYLE);
        page::INDEX.replace(STYLE_LINK, &style).replace(SCRIPT_LINK, &script)
    }

    fn save_series(&self, number: usize, series: &Series, store: &mut Store) {
        let mut seen = FxHashSet::default();
        for grouping in &series.groupings {
            let layer = self.layer_of_all(number, grouping);
            let with = format!("series={number}&by={}", grouping.id);
            for at in map::moments_worth_keeping(series) {
                store.put_json(format!("moment?{with}&moment={at}"), &moment::moment(series, grouping, &layer, at));
                let floor = series.reserved.at(at) / MAP_PART;
                store.put_json(format!("map?{with}&moment={at}"), &map::map(series, grouping, at, floor));
            }
            for axis in &series.axes {
                for (place, tile) in tiles(series, grouping, &layer, axis, self.coarsest_of_all(axis.kind)) {
                    seen.extend(tile.lanes.iter().map(|lane| lane.allocation));
                    let name = axis_name(axis);
                    let key = format!("tile?{with}&axis={name}&level={}&index={}", place.level, place.index);
                    store.put(key, &tile.bytes());
                }
            }
        }
        store.put_json(format!("allocations?series={number}"), &Kept::new(series, seen));
    }

    fn coarsest_of_all(&self, kind: AxisKind) -> u32 {
        self.series.iter().filter_map(|series| series.axis(kind)).map(coarsest).max().unwrap_or(0)
    }
}

fn axis_name(axis: &Axis) -> String {
    serde_json::to_value(axis.kind).ok().and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default()
}

/// All tiles of the levels that are kept, up to the one that shows the longest run as one tile.
fn tiles(series: &Series, grouping: &Grouping, layer: &Layer, axis: &Axis, top: u32) -> Vec<(Place, Tile)> {
    let floor = series.allocated.at(series.peak) / FLOOR_PART;
    let finest = coarsest(axis).saturating_sub((MOST_COLUMNS / COLUMNS).ilog2());
    let places = (finest..=top).flat_map(|level| {
        let tiles = axis.extent().div_ceil(COLUMNS << level);
        (0..tiles).map(move |index| Place { level, index, floor })
    });
    places.map(|place| (place, Tile::new(series, grouping, layer, axis, place))).collect()
}

/// Answers by question.
#[derive(Default)]
struct Store {
    index: Vec<(String, usize, usize)>,
    bytes: Vec<u8>,
}

impl Store {
    fn put(&mut self, key: String, bytes: &[u8]) {
        // Typed arrays start at multiples of their size.
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.index.push((key, self.bytes.len(), bytes.len()));
        self.bytes.extend_from_slice(bytes);
    }

    fn put_json(&mut self, key: String, value: &impl Serialize) {
        self.put(key, &serde_json::to_vec(value).expect("plain data always serialises"));
    }

    /// Length of the index (u64), index as JSON, padding to 8, bytes; then zlib, then base64.
    fn packed(&self) -> String {
        let index = serde_json::to_vec(&self.index).expect("plain data always serialises");
        let mut whole = (index.len() as u64).to_le_bytes().to_vec();
        whole.extend_from_slice(&index);
        whole.resize(whole.len().next_multiple_of(8), 0);
        whole.extend_from_slice(&self.bytes);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(&whole).expect("memory takes all that is written");
        STANDARD.encode(encoder.finish().expect("memory takes all that is written"))
    }
}

/// The largest allocations that the tiles show; their stacks and frames once each.
#[derive(Serialize)]
struct Kept<'a> {
    rows: Vec<(Facts<'a>, usize)>,
    stacks: Vec<Vec<usize>>,
    frames: Vec<Line<'a>>,
}

impl<'a> Kept<'a> {
    fn new(series: &'a Series, seen: FxHashSet<u32>) -> Kept<'a> {
        let mut largest: Vec<u32> = seen.into_iter().collect();
        largest.sort_unstable_by_key(|&at| (std::cmp::Reverse(series.lives.bytes[at as usize]), at));
        largest.truncate(MOST_ALLOCATIONS);
        let mut stacks = Once::<StackId>::default();
        let rows = largest
            .into_iter()
            .filter_map(|at| Some((facts(series, at)?, stacks.number(stack_of(series, at)?))))
            .collect();
        let mut frames = Once::<FrameId>::default();
        let stacks = stacks
            .order
            .iter()
            .map(|&stack| series.recording().stacks.get(stack).iter().map(|&frame| frames.number(frame)).collect());
        let stacks = stacks.collect();
        Kept { rows, stacks, frames: frames.order.iter().map(|&frame| line(series, frame)).collect() }
    }
}

/// Numbers things in the order in which they first appear.
struct Once<T> {
    order: Vec<T>,
    known: FxHashMap<T, usize>,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once { order: Vec::new(), known: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Once<T> {
    fn number(&mut self, thing: T) -> usize {
        *self.known.entry(thing).or_insert_with(|| {
            self.order.push(thing);
            self.order.len() - 1
        })
    }
}
