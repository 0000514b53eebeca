//! The Markdown of a comparison.

use std::fmt::Write;

use explain::Comparison;

use super::super::markdown::{code, escaped};
use super::{About, against, differences, fate, headline, main_run, signed, size, words};

pub fn compared_markdown(compared: &Comparison, about: &About) -> String {
    let mut out = format!("### {}\n\n", escaped(&headline(compared)));
    out.push_str("| run | allocated | reserved | end | cause |\n|---|--:|--:|---|---|\n");
    for run in &compared.runs {
        let (explanation, peak) = (&run.explanation, &run.explanation.peak);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            code(&run.name),
            size(peak.allocated_bytes),
            size(peak.reserved_bytes),
            fate(explanation),
            words::cause(&explanation.verdict)
        );
    }
    if let Some(heading) = against(compared) {
        let _ = writeln!(out, "\n**{}**\n", escaped(&heading));
        let rows = differences(compared, about, 8);
        for (bytes, text) in rows.into_iter().flat_map(|(_, rows)| rows) {
            let _ = writeln!(out, "- {} {}", signed(bytes), code(&text));
        }
    }
    if let Some(run) = main_run(compared) {
        let _ = writeln!(out, "\n{}: {}", code(&run.name), escaped(&run.explanation.verdict.summary));
    }
    out
}
