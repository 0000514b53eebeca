//! Draws several runs, or the ranks of one, beside each other.
//!
//! The explanation that a reader wants first is that of the run that died first, else of the highest: JSON has its keys
//! at the top, as for a single file.

mod html;
mod json;
mod markdown;
mod text;

use explain::{Comparison, Explanation, Ran};
use units::Bytes;

use super::{About, words};

pub use html::compared_html;
pub use json::compared_json;
pub use markdown::compared_markdown;
pub use text::compared_text;

/// The run that matters most: the first to die, else the highest, else the first.
fn main_run(compared: &Comparison) -> Option<&Ran> {
    let index = compared.first_dead.or_else(|| died(compared)).or(compared.highest).unwrap_or(0);
    compared.runs.get(index)
}

/// A run that died at a time that nobody wrote down.
fn died(compared: &Comparison) -> Option<usize> {
    compared.runs.iter().position(|run| run.explanation.oom.is_some())
}

/// The first line: what sets the runs apart.
fn headline(compared: &Comparison) -> String {
    let name = |index: usize| compared.runs[index].name.as_str();
    let peak = |index: usize| Bytes(compared.runs[index].explanation.peak.allocated_bytes.unwrap_or(0));
    let dead = compared.first_dead.map(|index| format!("{} ran out of memory first", name(index)));
    let heights = match (compared.highest, compared.lowest) {
        (Some(high), Some(low)) if high != low && gap(compared) > 0 => {
            let who = if compared.first_dead == Some(high) { "it" } else { name(high) };
            let gap = Bytes(gap(compared));
            Some(format!("{who} peaks {gap} higher than {}: {} against {}", name(low), peak(high), peak(low)))
        }
        (Some(high), _) => Some(format!("all {} runs peak at {}", compared.runs.len(), peak(high))),
        _ => None,
    };
    let parts: Vec<String> = [dead, heights].into_iter().flatten().collect();
    if parts.is_empty() { format!("{} runs", compared.runs.len()) } else { parts.join("; ") }
}

fn gap(compared: &Comparison) -> u64 {
    let peaks = || compared.runs.iter().filter_map(|run| run.explanation.peak.allocated_bytes);
    peaks().max().unwrap_or(0) - peaks().min().unwrap_or(0)
}

/// `+3.1 GiB` or `-20 MiB`
fn signed(bytes: i64) -> String {
    let sign = if bytes < 0 { '-' } else { '+' };
    format!("{sign}{}", Bytes(bytes.unsigned_abs()))
}

/// `died in forward of step 3` or `did not die`
fn fate(explanation: &Explanation) -> String {
    match &explanation.oom {
        Some(oom) => oom.phase.map_or("died".into(), |phase| format!("died in {}", phase.word())),
        None => "lived".into(),
    }
}

fn size(bytes: Option<u64>) -> String {
    bytes.map(|bytes| Bytes(bytes).to_string()).unwrap_or_else(|| "?".into())
}

/// What the rows of differences are about.
fn against(compared: &Comparison) -> Option<String> {
    let (high, low) = compared.highest.zip(compared.lowest).filter(|(high, low)| high != low)?;
    Some(format!("{} compared with {}", compared.runs[high].name, compared.runs[low].name))
}

/// Rows of differences as all formats list them: categories, then modules, then lines.
fn differences(compared: &Comparison, about: &About, most: usize) -> Vec<(&'static str, Vec<(i64, String)>)> {
    let categories = compared.by_category.iter().map(|row| (row.bytes, row.what.word().to_owned()));
    let modules = compared.by_module.iter().map(|row| (row.bytes, row.what.clone()));
    let lines = compared.by_line.iter().map(|row| (row.bytes, words::place(about, &row.what)));
    vec![
        ("By category", categories.take(most).collect()),
        ("By module", modules.take(most).collect()),
        ("By line", lines.take(most).collect()),
    ]
}
