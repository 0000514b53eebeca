//! The HTML format: one file that opens offline, in light and dark, with nothing loaded from anywhere.

mod chart;
mod page;

use explain::{Explanation, Finding, Fix, Held, Oom};
use units::Bytes;

use super::shown::{Shown, cut};
use super::{About, Explained, words};

pub use page::{escaped, page};

/// The explanation as a whole page.
pub fn html(explained: &Explained) -> String {
    page(&title(explained), &body(explained))
}

fn title(explained: &Explained) -> String {
    format!("{}: {}", explained.explanation.verdict.cause.id(), explained.about.files.join(", "))
}

pub fn body(explained: &Explained) -> String {
    let (explanation, about) = (&explained.explanation, &explained.about);
    let shown = Shown::PAGE;
    [
        format!("<h1>{}</h1>\n", escaped(&words::headline(explanation))),
        explanation.oom.as_ref().map(|oom| oom_section(oom, about)).unwrap_or_default(),
        explained.what_if.as_ref().map(|what_if| paragraph(&words::what_if(what_if))).unwrap_or_default(),
        explained.curve.as_ref().map(chart::svg).unwrap_or_default(),
        findings(explanation, about, shown),
        held_section(&explanation.held, shown),
        rows_section("By module", &modules(&explanation.held, shown)),
        rows_section("By line", &lines(&explanation.held, about, shown)),
        mistakes(explained),
        rows_section("What to do, and what it frees", &fixes(&explanation.fixes, shown)),
        explanation.warnings.iter().map(|warning| paragraph(&format!("Warning: {warning}"))).collect(),
        footer(explained),
    ]
    .concat()
}

fn mistakes(explained: &Explained) -> String {
    let lines = explained.mistakes.lines(|file| words::file(&explained.about, file).to_owned());
    rows_section("In the code", &lines.into_iter().map(|line| (None, line)).collect::<Rows>())
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}

fn oom_section(oom: &Oom, about: &About) -> String {
    let code = oom.code.as_deref().map(|code| format!("\n{}", code.trim())).unwrap_or_default();
    let rows = [
        ("Wanted", words::wanted(oom)),
        ("At", oom.location.as_ref().map(|location| words::place(about, location) + &code)),
        ("When", oom.time.clone()),
        ("Had", words::card(oom)),
        ("Who", words::refuser(oom).map(str::to_owned)),
        ("PyTorch said", words::message(oom).map(str::to_owned)),
    ];
    let rows = rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let rows: String = rows.map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", escaped(value))).collect();
    format!("<dl>\n{rows}</dl>\n")
}

fn findings(explanation: &Explanation, about: &About, shown: Shown) -> String {
    let mut out =
        rows_section(&format!("Why ({})", words::cause(&explanation.verdict)), &evidence(&explanation.verdict, about));
    for finding in cut(&explanation.also, shown.also).0 {
        let heading = format!("{}: {}", words::cause(finding), finding.summary);
        out.push_str(&format!(
            "<details><summary>Also possible: {}</summary>\n{}</details>\n",
            escaped(&heading),
            table(&evidence(finding, about))
        ));
    }
    out
}

type Rows = Vec<(Option<u64>, String)>;

fn evidence(finding: &Finding, about: &About) -> Rows {
    finding.evidence.iter().map(|fact| (fact.bytes, words::fact(about, fact))).collect()
}

fn modules(held: &Held, shown: Shown) -> Rows {
    let rows = cut(&held.by_module, shown.modules).0.iter();
    rows.map(|row| (Some(row.bytes), format!("{} (×{})", row.module, row.count))).collect()
}

fn lines(held: &Held, about: &About, shown: Shown) -> Rows {
    let rows = cut(&held.by_line, shown.lines).0.iter();
    rows.map(|row| (Some(row.bytes), format!("{} (×{})", words::place(about, &row.location), row.count))).collect()
}

fn fixes(fixes: &[Fix], shown: Shown) -> Rows {
    let rows = cut(fixes, shown.fixes).0.iter();
    rows.map(|fix| (fix.frees_bytes, format!("{}: {}", fix.remedy, fix.how))).collect()
}

pub fn rows_section(heading: &str, rows: &[(Option<u64>, String)]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!("<h2>{}</h2>\n{}", escaped(heading), table(rows))
}

fn table(rows: &[(Option<u64>, String)]) -> String {
    let size = |bytes: &Option<u64>| bytes.map(|bytes| Bytes(bytes).to_string()).unwrap_or_default();
    let row = |(bytes, text): &(Option<u64>, String)| {
        format!("<tr><td class=\"size\">{}</td><td>{}</td></tr>\n", size(bytes), escaped(text))
    };
    format!("<table>\n{}</table>\n", rows.iter().map(row).collect::<String>())
}

fn held_section(held: &Held, shown: Shown) -> String {
    if held.by_category.is_empty() {
        return String::new();
    }
    let total: u64 = held.total_bytes.unwrap_or_else(|| held.by_category.iter().map(|row| row.bytes).sum());
    let row = |row: &explain::HeldFor| {
        let share = words::share(row.bytes, total);
        let category = row.category.word();
        format!(
            "<tr><td class=\"size\">{}</td><td>{category}</td><td class=\"size\">{}</td><td class=\"bar\"><span \
             class=\"{category}\" style=\"width:{:.1}%\"></span></td><td>{}</td></tr>\n",
            Bytes(row.bytes),
            words::percent(share),
            (share * 100.0).min(100.0),
            words::basis(row.basis)
        )
    };
    let rows: String = cut(&held.by_category, shown.categories).0.iter().map(row).collect();
    format!(
        "<h2>{}: {} in tensors</h2>\n<table class=\"wide\">\n{rows}</table>\n",
        words::moment(held.when),
        Bytes(total)
    )
}

fn footer(explained: &Explained) -> String {
    let (peak, about) = (&explained.explanation.peak, &explained.about);
    let sized = |bytes: Option<u64>, what: &str| bytes.map(|bytes| format!("{} {what}", Bytes(bytes)));
    let parts = [
        Some(about.files.join(", ")),
        sized(peak.allocated_bytes, "allocated at most"),
        sized(peak.reserved_bytes, "reserved at most"),
        about.gpu.clone(),
        about.torch.as_ref().map(|torch| format!("torch {torch}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("<footer>{}</footer>\n", escaped(&parts.join(", ")))
}
