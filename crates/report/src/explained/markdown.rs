//! The Markdown format: for an issue tracker.

use std::fmt::Write;

use explain::{Explanation, Held, Oom};
use units::Bytes;

use super::shown::{Shown, cut};
use super::{About, Explained, words};

/// The explanation as Markdown, with a newline at its end.
pub fn markdown(explained: &Explained) -> String {
    let (explanation, about) = (&explained.explanation, &explained.about);
    let shown = Shown { categories: 9, modules: 8, lines: 10, ..Shown::SCREEN };
    let sections = [
        format!("### {}\n", escaped(&words::headline(explanation))),
        explanation.oom.as_ref().map(|oom| oom_section(oom, about)).unwrap_or_default(),
        explained
            .what_if
            .as_ref()
            .map(|what_if| format!("{}\n", escaped(&words::what_if(what_if))))
            .unwrap_or_default(),
        why(explanation, about, shown),
        held(&explanation.held, shown),
        lines(&explanation.held, about, shown),
        mistakes(explained),
        fixes(explanation, shown),
        also(explanation, shown),
        explanation.warnings.iter().map(|warning| format!("- warning: {}\n", escaped(warning))).collect(),
        footer(explained),
    ];
    let shown: Vec<&str> = sections.iter().map(String::as_str).filter(|section| !section.is_empty()).collect();
    shown.join("\n")
}

fn mistakes(explained: &Explained) -> String {
    let lines = explained.mistakes.lines(|file| words::file(&explained.about, file).to_owned());
    lines.iter().map(|line| format!("- {}\n", escaped(line))).collect()
}

fn oom_section(oom: &Oom, about: &About) -> String {
    let mut out = String::new();
    if let Some(wanted) = words::wanted(oom) {
        let _ = writeln!(out, "- wanted {}", escaped(&wanted));
    }
    if let Some(location) = &oom.location {
        let _ = writeln!(out, "- at {}{}", code(&words::place(about, location)), line_of(oom));
    }
    if let Some(had) = words::card(oom) {
        let _ = writeln!(out, "- had {}", escaped(&had));
    }
    if let Some(who) = words::refuser(oom) {
        let _ = writeln!(out, "- {who}");
    }
    out
}

fn line_of(oom: &Oom) -> String {
    oom.code.as_deref().map(|line| format!(", {}", code(line.trim()))).unwrap_or_default()
}

fn why(explanation: &Explanation, about: &About, shown: Shown) -> String {
    let verdict = &explanation.verdict;
    let rows = cut(&verdict.evidence, shown.evidence).0.iter().map(|fact| {
        let place = fact.location.as_ref().map(|location| format!(", {}", code(&words::place(about, location))));
        let size = fact.bytes.map(|bytes| format!("**{}** ", Bytes(bytes))).unwrap_or_default();
        format!("- {size}{}{}\n", escaped(&fact.text), place.unwrap_or_default())
    });
    format!("**Why** ({})\n\n{}", words::cause(verdict), rows.collect::<String>())
}

fn held(held: &Held, shown: Shown) -> String {
    if held.by_category.is_empty() {
        return String::new();
    }
    let total = held.total_bytes.unwrap_or_else(|| held.by_category.iter().map(|row| row.bytes).sum());
    let mut out = format!(
        "**{}** ({} in tensors)\n\n| for | bytes | share | basis |\n|---|--:|--:|---|\n",
        words::moment(held.when),
        Bytes(total)
    );
    for row in cut(&held.by_category, shown.categories).0 {
        let share = words::percent(words::share(row.bytes, total));
        let _ =
            writeln!(out, "| {} | {} | {share} | {} |", row.category.word(), Bytes(row.bytes), words::basis(row.basis));
    }
    out
}

fn lines(held: &Held, about: &About, shown: Shown) -> String {
    if held.by_line.is_empty() {
        return String::new();
    }
    let mut out = String::from("| line | bytes | tensors |\n|---|--:|--:|\n");
    for row in cut(&held.by_line, shown.lines).0 {
        let _ =
            writeln!(out, "| {} | {} | {} |", code(&words::place(about, &row.location)), Bytes(row.bytes), row.count);
    }
    out
}

fn fixes(explanation: &Explanation, shown: Shown) -> String {
    if explanation.fixes.is_empty() {
        return String::new();
    }
    let mut out = String::from("**What to do, and what it frees**\n\n");
    for fix in cut(&explanation.fixes, shown.fixes).0 {
        let frees = fix.frees_bytes.map(|bytes| format!(" ({})", Bytes(bytes))).unwrap_or_default();
        let _ = writeln!(out, "- {}{frees}: {}", code(&fix.remedy), escaped(&fix.how));
    }
    out
}

fn also(explanation: &Explanation, shown: Shown) -> String {
    let rows = cut(&explanation.also, shown.also).0.iter();
    rows.map(|finding| format!("- also possible: {}: {}\n", words::cause(finding), escaped(&finding.summary))).collect()
}

fn footer(explained: &Explained) -> String {
    let (peak, about) = (&explained.explanation.peak, &explained.about);
    let sized = |bytes: Option<u64>, what: &str| bytes.map(|bytes| format!("{} {what} at most", Bytes(bytes)));
    let parts = [
        sized(peak.allocated_bytes, "allocated"),
        sized(peak.reserved_bytes, "reserved"),
        about.gpu.clone(),
        about.torch.as_ref().map(|torch| format!("torch {torch}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("_{}_\n", escaped(&parts.join(", "))) }
}

/// Text that Markdown shows as it is. Trackers take HTML too, so that goes as well.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '|' | '#' | '[' | ']' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Code between ticks. A tick inside would end it, and a bar would end a table's cell.
pub fn code(text: &str) -> String {
    let ticks = if text.contains('`') { "``" } else { "`" };
    let text = text.replace('|', "\\|").replace(['\n', '\r'], " ");
    if ticks.len() == 2 { format!("{ticks} {text} {ticks}") } else { format!("{ticks}{text}{ticks}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("a_b *c* <script> | # [x]"), "a\\_b \\*c\\* &lt;script> \\| \\# \\[x\\]");
        assert_eq!(code("f(`x`) | y"), "`` f(`x`) \\| y ``");
    }
}
