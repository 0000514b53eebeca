//! The page of a comparison: the table, the differences, and every run's own explanation below.

use std::fmt::Write;

use explain::Comparison;

use super::super::html::{body, escaped, page};
use super::{About, against, differences, fate, headline, signed, size, words};
use crate::explained::Explained;

/// `runs` are the explanations with their curves, in the order of the comparison.
pub fn compared_html(compared: &Comparison, about: &About, runs: &[Explained]) -> String {
    let mut out = format!("<h1>{}</h1>\n{}", escaped(&headline(compared)), table(compared));
    if let Some(heading) = against(compared) {
        let _ = writeln!(out, "<h2>{}</h2>", escaped(&heading));
        for (name, rows) in differences(compared, about, 20) {
            out.push_str(&rows_of(name, &rows));
        }
    }
    for (run, explained) in compared.runs.iter().zip(runs) {
        let _ = write!(out, "<details><summary>{}</summary>\n{}</details>\n", escaped(&run.name), body(explained));
    }
    page(&headline(compared), &out)
}

fn table(compared: &Comparison) -> String {
    let head = "<tr><th>Run</th><th>Allocated</th><th>Reserved</th><th>End</th><th>Cause</th></tr>\n";
    let rows = compared.runs.iter().map(|run| {
        let peak = &run.explanation.peak;
        format!(
            "<tr><td>{}</td><td class=\"size\">{}</td><td class=\"size\">{}</td><td>{}</td><td>{}</td></tr>\n",
            escaped(&run.name),
            size(peak.allocated_bytes),
            size(peak.reserved_bytes),
            escaped(&fate(&run.explanation)),
            escaped(&words::cause(&run.explanation.verdict))
        )
    });
    format!("<table>\n{head}{}</table>\n", rows.collect::<String>())
}

fn rows_of(name: &str, rows: &[(i64, String)]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let row = |(bytes, text): &(i64, String)| {
        format!("<tr><td class=\"size\">{}</td><td>{}</td></tr>\n", signed(*bytes), escaped(text))
    };
    format!("<h3>{name}</h3>\n<table>\n{}</table>\n", rows.iter().map(row).collect::<String>())
}
