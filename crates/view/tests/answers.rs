//! What the page gets when it asks.

mod made_up;

use made_up::{ACTIVATION, LAYERS, MIB, PARAMETER, REFUSED};
use serde_json::Value;
use view::{Error, View};

const STEPS: u32 = 50;

fn view() -> View {
    View::new(vec![made_up::run("one.pickle", STEPS)])
}

fn json(view: &View, path: &str, query: &str) -> Value {
    let response = view.respond(path, query).unwrap();
    assert_eq!(response.content_type, "application/json");
    serde_json::from_slice(&response.bytes).unwrap()
}

/// The parts of a tile that these tests look at.
struct Tile {
    moments: Vec<u32>,
    /// Everything in the column: lanes and what is in none.
    totals: Vec<f32>,
    allocated: Vec<f32>,
    reserved: Vec<f32>,
    lanes: Vec<u32>,
}

fn tile(view: &View, query: &str) -> Tile {
    let bytes = view.respond("/tile", query).unwrap().bytes.into_owned();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (columns, groups, lanes) = (word(4) as usize, word(8) as usize, word(12) as usize);
    let floats =
        |start: usize, count: usize| (0..count).map(|at| f32::from_bits(word(start + at * 4))).collect::<Vec<f32>>();
    let sums = 16 + columns * 8;
    let row = |number: usize| floats(sums + number * columns * 4, columns);
    let moments_at = sums + (3 + groups) * columns * 4;
    let lanes_at = moments_at + columns * 4;
    let mut totals = vec![0.0; columns];
    for group in 0..groups {
        row(3 + group).iter().zip(&mut totals).for_each(|(bytes, total)| *total += bytes);
    }
    let half = |at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
    for (lane, bytes) in floats(lanes_at, lanes).into_iter().enumerate() {
        let (first, end) = (half(lanes_at + lanes * 8 + lane * 2), half(lanes_at + lanes * 10 + lane * 2));
        totals[first..end].iter_mut().for_each(|total| *total += bytes);
    }
    Tile {
        moments: (0..columns).map(|at| word(moments_at + at * 4)).collect(),
        totals,
        allocated: row(1),
        reserved: row(2),
        lanes: (0..lanes).map(|at| word(lanes_at + lanes * 4 + at * 4)).collect(),
    }
}

#[test]
fn the_model_says_what_there_is() {
    let model = json(&view(), "/model", "");
    let series = &model["series"][0];
    assert_eq!(series["name"], "one.pickle");
    assert_eq!(series["events"], made_up::events(STEPS));
    // The first gradient is made while all activations are still there.
    assert_eq!(series["peak"]["allocated"], LAYERS * (PARAMETER + ACTIVATION) + PARAMETER);
    assert_eq!(series["refused"][0]["bytes"], REFUSED);
    assert_eq!(series["limit"]["name"], "Test Card");
    let axes: Vec<&Value> = series["axes"].as_array().unwrap().iter().map(|axis| &axis["id"]).collect();
    assert_eq!(axes, ["events", "time", "steps"]);
    let groupings: Vec<&Value> = series["groupings"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(groupings, ["category", "module", "line"]);
    assert_eq!(series["steps"]["numbers"].as_array().unwrap().len(), STEPS as usize);
}

#[test]
fn the_peak_is_in_the_picture_at_every_zoom() {
    let view = view();
    let peak = (LAYERS * (PARAMETER + ACTIVATION) + PARAMETER) as f32;
    for axis in json(&view, "/model", "")["series"][0]["axes"].as_array().unwrap() {
        let (name, extent) = (axis["id"].as_str().unwrap(), axis["extent"].as_u64().unwrap());
        let coarsest = extent.div_ceil(256).next_power_of_two().ilog2();
        for level in coarsest.saturating_sub(3)..=coarsest {
            let tiles =
                (0..extent.div_ceil(256 << level)).map(|index| format!("axis={name}&level={level}&index={index}"));
            let top = tiles.flat_map(|query| tile(&view, &query).totals).fold(0.0, f32::max);
            assert_eq!(top, peak, "{name} {level}");
        }
    }
}

#[test]
fn columns_add_up_to_what_is_allocated() {
    let view = view();
    for query in ["level=0&index=0", "level=0&index=3", "level=2&floor=16777216", "level=2&axis=events&by=line"] {
        let tile = tile(&view, query);
        assert_eq!(tile.totals, tile.allocated, "{query}");
        assert!(tile.totals.iter().zip(&tile.reserved).all(|(total, reserved)| total <= reserved));
        assert!(tile.moments.is_sorted());
    }
}

#[test]
fn the_last_tile_ends_with_the_recording_and_nothing_is_behind_it() {
    let view = view();
    let moments = made_up::events(STEPS) + 1;
    let last = tile(&view, &format!("level=0&index={}", (moments - 1) / 256));
    assert_eq!(*last.moments.last().unwrap(), moments - 1);
    assert_eq!(tile(&view, "level=0&index=99999999999").moments.len(), 0);
    assert_eq!(tile(&view, "level=40").moments.len(), 1);
    assert!(matches!(view.respond("/tile", "level=60"), Err(Error::NotThere { what: "level", .. })));
}

#[test]
fn what_is_switched_off_is_not_in_the_columns() {
    let view = view();
    // Groups of categories from the bottom: parameter, buffer, optimizer-state, gradient, activation.
    let without = tile(&view, "level=2&hide=16");
    assert_eq!(without.totals.iter().copied().fold(0.0, f32::max), (LAYERS * PARAMETER * 2) as f32);
    assert_eq!(without.allocated, tile(&view, "level=2").allocated);
}

#[test]
fn only_large_allocations_are_lanes() {
    let view = view();
    let all = tile(&view, "level=0&floor=0").lanes.len();
    let large = tile(&view, &format!("level=0&floor={}", 16 * MIB)).lanes.len();
    assert!(large > 0 && large < all, "{large} of {all}");
}

#[test]
fn a_search_finds_by_every_kind_of_term() {
    let view = view();
    let found = |query: &str| json(&view, "/search", &format!("q={query}"))["count"].as_u64().unwrap();
    let (layers, steps) = (LAYERS, u64::from(STEPS));
    assert_eq!(found("forward"), layers * steps);
    assert_eq!(found("TRAIN.py"), layers + 2 * layers * steps);
    assert_eq!(found("size%3E16MiB"), layers * steps);
    assert_eq!(found("module%3Alayers.2"), 1 + 2 * steps);
    assert_eq!(found("category%3Agrad"), layers * steps);
    assert_eq!(found("phase%3Aforward+step%3A3"), layers);
    assert_eq!(found("-size%3E16MiB+-alive"), layers * steps);
    assert_eq!(found("alive"), layers);
    assert_eq!(found("no-such-thing"), 0);
}

#[test]
fn a_search_filters_the_picture_too() {
    let tile = tile(&view(), "level=2&q=category%3Aparameter");
    assert_eq!(tile.totals.iter().copied().fold(0.0, f32::max), (LAYERS * PARAMETER) as f32);
}

#[test]
fn a_moment_names_the_lines_that_hold_memory() {
    let view = view();
    let peak = json(&view, "/model", "")["series"][0]["peak"]["when"]["moment"].as_u64().unwrap();
    let moment = json(&view, "/moment", &format!("moment={peak}"));
    let first = &moment["holders"][0];
    assert_eq!((first["file"].as_str(), first["line"].as_u64()), (Some("/home/me/train.py"), Some(20)));
    assert_eq!(first["bytes"], LAYERS * ACTIVATION);
    assert_eq!(first["count"], LAYERS);
    let sum: u64 = moment["groups"].as_array().unwrap().iter().map(|bytes| bytes.as_u64().unwrap()).sum();
    assert_eq!(moment["allocated"], sum);
}

#[test]
fn an_allocation_has_its_stack_and_life() {
    let allocation = json(&view(), "/allocation", "id=4");
    assert_eq!(allocation["bytes"], ACTIVATION);
    assert_eq!(allocation["category"], "activation");
    assert_eq!(allocation["module"], "model.layers.0.linear");
    assert_eq!(allocation["inferred"], false);
    assert_eq!(allocation["born"]["step"], 1);
    assert_eq!(allocation["born"]["phase"], "forward");
    let site = allocation["site"].as_u64().unwrap() as usize;
    assert_eq!(allocation["stack"][site]["function"], "forward");
    assert_eq!(allocation["stack"][site]["own"], true);
    assert!(allocation["died"]["moment"].as_u64() > allocation["born"]["moment"].as_u64());
}

#[test]
fn the_map_tiles_all_that_is_reserved() {
    let view = view();
    for moment in [0, 1, 5, 20, made_up::events(STEPS)] {
        let map = json(&view, "/map", &format!("moment={moment}&floor=0"));
        let strips = map["strips"].as_array().unwrap();
        let pieces = strips.iter().flat_map(|strip| strip["pieces"].as_array().unwrap());
        let sum: u64 = pieces.map(|piece| piece["bytes"].as_u64().unwrap()).sum();
        assert_eq!(map["reserved"], sum, "moment {moment}");
    }
    let end = json(&view, "/map", &format!("moment={}", made_up::events(STEPS)));
    assert_eq!(end["largest_hole"], (4_u64 << 30) - LAYERS * PARAMETER);
}

#[test]
fn nonsense_is_refused_and_says_why() {
    let view = view();
    let refused = |path: &str, query: &str| view.respond(path, query).unwrap_err().to_string();
    assert_eq!(refused("/etc/passwd", ""), "no page /etc/passwd");
    assert_eq!(refused("/tile", "level=x"), "expected a number for `level`, found `x`");
    assert_eq!(refused("/tile", "axis=space"), "expected events, time or steps for `axis`, found `space`");
    assert_eq!(refused("/tile", "series=7"), "no series 7");
    assert_eq!(refused("/tile", "by=colour"), "no grouping colour");
    assert_eq!(refused("/moment", "moment=4294967295"), "no moment 4294967295");
    assert_eq!(refused("/allocation", "id=4294967295"), "no allocation 4294967295");
}

#[test]
fn two_runs_share_an_axis_of_steps() {
    let view = View::new(vec![made_up::run("a", 3), made_up::run("b", 9)]);
    let model = json(&view, "/model", "");
    let second_step = |series: usize| model["series"][series]["axes"][2]["steps"][1].as_u64();
    assert_eq!(second_step(0), second_step(1));
    assert!(model["series"][1]["axes"][1]["pauses"].as_array().unwrap().is_empty());
}

#[test]
fn a_file_without_anything_is_no_reason_to_fail() {
    let empty = trace::Recording { devices: vec![trace::Device::default()], ..trace::Recording::default() };
    let histories = vec![trace::History::of(&empty, 0)];
    let view = View::new(vec![view::Run { name: "empty".into(), recording: empty, histories, limit: None }]);
    assert_eq!(json(&view, "/model", "")["series"][0]["events"], 0);
    assert_eq!(tile(&view, "level=0").totals, [0.0]);
    assert!(view.save().contains("</html>"));
}

#[test]
fn the_saved_page_is_whole() {
    let page = view().save();
    assert!(page.contains("id=\"store\"") && page.contains("<style>"));
    assert!(!page.contains("src=\"page.js\"") && !page.contains("href=\"style.css\""));
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
}
