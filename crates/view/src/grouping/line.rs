//! By the line of the user's code that made it.

use rustc_hash::FxHashMap;
use trace::FrameId;

use super::{Group, Grouping, MOST_GROUPS, Scene};

/// None where no stack was kept.
pub fn grouping(scene: &Scene<'_>) -> Option<Grouping> {
    let lines: Vec<Option<FrameId>> =
        (0..scene.lives.len()).map(|at| scene.sites.of_allocation(scene.history, at)).collect();
    let mut weights: FxHashMap<FrameId, u64> = FxHashMap::default();
    for (at, line) in lines.iter().enumerate() {
        if let Some(line) = line {
            *weights.entry(*line).or_default() += scene.weight(at);
        }
    }
    let mut heaviest: Vec<(FrameId, u64)> = weights.into_iter().collect();
    heaviest.sort_unstable_by_key(|&(line, weight)| (std::cmp::Reverse(weight), line));
    heaviest.truncate(MOST_GROUPS - 1);
    if heaviest.is_empty() {
        return None;
    }
    let place: FxHashMap<FrameId, u8> = heaviest.iter().enumerate().map(|(at, &(line, _))| (line, at as u8)).collect();
    let rest = heaviest.len() as u8;
    let of = lines.iter().map(|line| line.and_then(|line| place.get(&line).copied()).unwrap_or(rest)).collect();
    let named = heaviest.iter().map(|&(line, _)| group(scene, line));
    Some(Grouping { id: "line", groups: named.chain([Group::rest("other lines")]).collect(), of, marked: None })
}

fn group(scene: &Scene<'_>, line: FrameId) -> Group {
    let frame = scene.recording.frames.get(line);
    let (file, function) = (scene.recording.names.get(frame.file), scene.recording.names.get(frame.function));
    let name = match frame.line {
        // C++: its names are long, and say where they are by themselves.
        0 => without_arguments(function)
            .rsplit("::")
            .take(2)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
            .join("::"),
        line => format!("{}:{line} {function}", file.rsplit('/').next().unwrap_or(file)),
    };
    Group { title: Some(format!("{file}:{} {function}", frame.line)), ..Group::named(name) }
}

fn without_arguments(function: &str) -> &str {
    function.split('(').next().unwrap_or(function)
}
