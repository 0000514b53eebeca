//! The text format: one screen, readable without colour, the cause in the first line.

use std::fmt::Write;

use explain::{Explanation, Fix, Held, HeldAt, HeldBy, HeldFor, Oom};
use trace::Basis;
use units::Bytes;

use super::shown::{Shown, cut};
use super::{About, Explained, words};

/// Terminals have 80 columns at least; prose is wrapped a little later, since most have more.
const WIDTH: usize = 100;
const BAR: usize = 24;

/// The explanation as text, with a newline at its end. `full` leaves nothing out.
pub fn text(explained: &Explained, full: bool) -> String {
    let shown = if full { Shown::ALL } else { Shown::SCREEN };
    let (explanation, about) = (&explained.explanation, &explained.about);
    let sections = [
        wrapped(&words::headline(explanation), 0),
        explanation.oom.as_ref().map(|oom| oom_section(oom, about, full)).unwrap_or_default(),
        what_if_section(explained),
        why_section(explanation, about, shown),
        held_section(&explanation.held, shown),
        modules_section(&explanation.held.by_module, shown.modules),
        lines_section(&explanation.held.by_line, about, shown.lines),
        explained.mistakes.section(|file| words::file(about, file).to_owned()),
        fixes_section(&explanation.fixes, shown.fixes),
        also_section(explanation, about, shown),
        warnings_section(&explanation.warnings, shown.warnings),
        footer(explained),
    ];
    joined(&sections)
}

/// Sections with an empty line between them.
pub fn joined(sections: &[String]) -> String {
    let shown: Vec<&str> = sections.iter().map(String::as_str).filter(|section| !section.is_empty()).collect();
    shown.join("\n")
}

fn oom_section(oom: &Oom, about: &About, full: bool) -> String {
    let mut out = String::new();
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            out.push_str(&wrapped(&format!("  {name:<8}{value}"), 10));
        }
    };
    row("wanted", words::wanted(oom));
    row("at", oom.location.as_ref().map(|location| with_code(words::place(about, location), oom.code.as_deref())));
    row("when", oom.time.clone());
    row("had", words::card(oom));
    row("who", words::refuser(oom).map(str::to_owned));
    row("torch", words::message(oom).filter(|_| full).map(str::to_owned));
    out
}

/// The line of code itself, as much of it as one line of a screen takes.
fn with_code(place: String, code: Option<&str>) -> String {
    let Some(code) = code.map(str::trim).filter(|code| !code.is_empty()) else {
        return place;
    };
    let room = (WIDTH - 14).saturating_sub(place.chars().count()).max(24);
    let shown: String = code.chars().take(room).collect();
    let rest = if shown.len() < code.len() { "…" } else { "" };
    format!("{place}  {}{rest}", shown.trim_end())
}

fn what_if_section(explained: &Explained) -> String {
    let Some(what_if) = &explained.what_if else {
        return String::new();
    };
    let mut out = wrapped(&words::what_if(what_if), 0);
    for note in &what_if.notes {
        out.push_str(&wrapped(&format!("  {note}"), 2));
    }
    out
}

fn why_section(explanation: &Explanation, about: &About, shown: Shown) -> String {
    let mut out = format!("Why ({})\n", words::cause(&explanation.verdict));
    let (rows, hidden) = cut(&explanation.verdict.evidence, shown.evidence);
    for fact in rows {
        out.push_str(&sized(fact.bytes, &words::fact(about, fact)));
    }
    out.push_str(&more(hidden));
    if explanation.verdict.evidence.is_empty() { String::new() } else { out }
}

fn held_section(held: &Held, shown: Shown) -> String {
    if held.by_category.is_empty() {
        return String::new();
    }
    let total = total(held);
    let mut out = format!("{}: {} in tensors{}\n", words::moment(held.when), Bytes(total), inferred(&held.by_category));
    let (rows, hidden) = cut(&held.by_category, shown.categories.min(worth_a_row(held, total, shown)));
    for row in rows {
        let share = words::share(row.bytes, total);
        let line = format!(
            "  {:<16}{:>10}  {:>5}  {}",
            row.category.word(),
            Bytes(row.bytes),
            words::percent(share),
            bar(share)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push_str(&more(hidden));
    out
}

/// On a screen, what is less than half a percent is left out.
fn worth_a_row(held: &Held, total: u64, shown: Shown) -> usize {
    if shown == Shown::ALL {
        return held.by_category.len();
    }
    held.by_category.iter().filter(|row| words::share(row.bytes, total) >= 0.005).count().max(1)
}

fn total(held: &Held) -> u64 {
    held.total_bytes.unwrap_or_else(|| held.by_category.iter().map(|row| row.bytes).sum())
}

fn inferred(rows: &[HeldFor]) -> &'static str {
    let all = rows.iter().all(|row| row.basis == Basis::Inferred);
    if all { " (categories inferred from stacks and lifetimes)" } else { "" }
}

fn bar(share: f64) -> String {
    "█".repeat((share * BAR as f64).round() as usize)
}

fn modules_section(modules: &[HeldBy], most: usize) -> String {
    let mut out = heading(modules.is_empty(), "By module");
    let (rows, hidden) = cut(modules, most);
    for row in rows {
        out.push_str(&sized(Some(row.bytes), &format!("{} ({})", row.module, tensors(row.count))));
    }
    out.push_str(&more(hidden));
    out
}

fn lines_section(lines: &[HeldAt], about: &About, most: usize) -> String {
    let mut out = heading(lines.is_empty(), "By line");
    let (rows, hidden) = cut(lines, most);
    for row in rows {
        let place = words::place(about, &row.location);
        out.push_str(&sized(Some(row.bytes), &format!("{place} ({})", tensors(row.count))));
    }
    out.push_str(&more(hidden));
    out
}

fn fixes_section(fixes: &[Fix], most: usize) -> String {
    let counted = fixes.iter().any(|fix| fix.frees_bytes.is_some());
    let mut out = heading(fixes.is_empty(), if counted { "What to do, and what it frees" } else { "What to do" });
    let (rows, hidden) = cut(fixes, most);
    for fix in rows {
        let text = format!("{}: {}", fix.remedy, fix.how);
        out.push_str(&if counted { sized(fix.frees_bytes, &text) } else { wrapped(&format!("  {text}"), 4) });
    }
    out.push_str(&more(hidden));
    out
}

fn also_section(explanation: &Explanation, about: &About, shown: Shown) -> String {
    let mut out = heading(explanation.also.is_empty(), "Also possible");
    let (rows, hidden) = cut(&explanation.also, shown.also);
    for finding in rows {
        out.push_str(&wrapped(&format!("  {}: {}", words::cause(finding), finding.summary), 4));
        if shown == Shown::ALL {
            finding.evidence.iter().for_each(|fact| out.push_str(&sized(fact.bytes, &words::fact(about, fact))));
        }
    }
    out.push_str(&more(hidden));
    out
}

fn warnings_section(warnings: &[String], most: usize) -> String {
    let (rows, hidden) = cut(warnings, most);
    let mut out: String = rows.iter().map(|warning| wrapped(&format!("warning: {warning}"), 2)).collect();
    if hidden > 0 {
        let _ = writeln!(out, "… and {hidden} more warnings, all with --full");
    }
    out
}

fn footer(explained: &Explained) -> String {
    let (peak, about) = (&explained.explanation.peak, &explained.about);
    let peaks = match (peak.allocated_bytes, peak.reserved_bytes) {
        (Some(allocated), Some(reserved)) => {
            Some(format!("peak {} allocated, {} reserved", Bytes(allocated), Bytes(reserved)))
        }
        (Some(allocated), None) => Some(format!("peak {} allocated", Bytes(allocated))),
        _ => None,
    };
    let parts = [
        peaks,
        about.events.map(|events| format!("{events} events")),
        about.gpu.clone(),
        about.torch.as_ref().map(|torch| format!("torch {torch}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("{}\n", words::capital(&parts.join(", "))) }
}

fn heading(nothing: bool, words: &str) -> String {
    if nothing { String::new() } else { format!("{words}\n") }
}

fn tensors(count: u64) -> String {
    if count == 1 { "1 tensor".into() } else { format!("{count} tensors") }
}

/// A row with its bytes before it, so that sizes stand in a column.
pub fn sized(bytes: Option<u64>, text: &str) -> String {
    let size = bytes.map(|bytes| Bytes(bytes).to_string()).unwrap_or_default();
    wrapped(&format!("  {size:>10}  {text}"), 14)
}

pub fn more(hidden: usize) -> String {
    if hidden == 0 { String::new() } else { format!("{:>12}  and {hidden} more\n", "…") }
}

/// Breaks at spaces; what follows the first line is indented.
pub fn wrapped(text: &str, indent: usize) -> String {
    let start = text.len() - text.trim_start().len();
    let mut out = text[..start].to_owned();
    let mut column = start;
    let words: Vec<&str> = text[start..].split(' ').collect();
    // Runs of spaces inside are columns of a table and stay.
    for (index, word) in words.iter().enumerate() {
        let width = word.chars().count();
        // A number and its unit stay together.
        let unit = words.get(index + 1).filter(|next| is_unit(next)).map_or(0, |next| 1 + next.chars().count());
        if index > 0 && column + 1 + width + unit > WIDTH && column > indent && !is_unit(word) {
            out.truncate(out.trim_end().len());
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn is_unit(word: &str) -> bool {
    ["%", "B", "KiB", "MiB", "GiB", "TiB"].contains(&word.trim_end_matches([',', ')', ';', ':', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        let text = wrapped(&format!("{} 86 %)", "x".repeat(95)), 2);
        assert!(text.ends_with("\n  86 %)\n"), "{text}");
    }

    #[test]
    fn long_sentences_are_wrapped_under_their_beginning() {
        let text = sized(Some(1 << 30), &"word ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("              word")), "{text}");
        assert_eq!(wrapped("short", 2), "short\n");
    }

    #[test]
    fn a_word_that_is_too_long_stays_whole() {
        let long = "x".repeat(150);
        assert_eq!(wrapped(&format!("some {long} b"), 2), format!("some\n  {long}\n  b\n"));
    }
}
