//! The verdicts on public code: well formed, about rules that exist, and few enough of them false.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const VERDICTS: [&str; 3] = ["true", "mild", "false"];

/// Bugs that were known before the rules were written: part of a path, rule, how many.
const KNOWN: [(&str, &str, usize); 9] = [
    ("examples/distributed/minGPT-ddp/mingpt/trainer.py", "P02", 1),
    ("examples/language_translation/main.py", "E02", 1),
    ("examples/distributed/tensor_parallelism/", "A05", 3),
    ("peft/examples/pvera/confidence_interval_generation.py", "A05", 1),
    ("fairseq/examples/emotion_conversion/emotion_models/", "A05", 2),
    ("diffusers/examples/vqgan/train_vqgan.py", "M01", 1),
    ("fairseq/fairseq/trainer.py", "O01", 1),
    ("torchtune/recipes/", "A03", 12),
    ("accelerate/examples/", "A08", 9),
];

struct Row {
    set: String,
    place: String,
    code: String,
    verdict: String,
}

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(file)).unwrap()
}

/// The rows of a file; those of `pedantic.tsv` name no set.
fn rows(file: &str) -> Vec<Row> {
    let text = read(file);
    let columns = text.lines().next().unwrap().split('\t').count();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        assert!(cells.len() == columns && cells.iter().all(|c| !c.trim().is_empty()), "{file}: {line}");
        let (set, rest) = if columns == 6 { (cells[0], &cells[1..]) } else { ("", &cells[..]) };
        let severities = ["note", "warning", "error"];
        assert!(severities.contains(&rest[2]) && VERDICTS.contains(&rest[3]), "{file}: {line}");
        Row { set: set.into(), place: rest[0].into(), code: rest[1].into(), verdict: rest[3].into() }
    };
    text.lines().skip(1).map(row).collect()
}

fn is_on(code: &str) -> bool {
    let entry = lint::all_rules().iter().find(|e| e.rule.code == code).unwrap_or_else(|| panic!("no rule {code}"));
    entry.rule.default == lint::rule::Default::On
}

#[test]
fn places_are_relative_and_have_a_line() {
    for row in rows("verdicts.tsv").iter().chain(&rows("pedantic.tsv")) {
        let (path, line) = row.place.rsplit_once(':').unwrap_or_else(|| panic!("{}: no line", row.place));
        assert!(line.parse::<u32>().is_ok() && !path.starts_with('/'), "{}", row.place);
    }
}

#[test]
fn verdicts_are_about_rules_that_run() {
    assert!(rows("verdicts.tsv").iter().all(|row| is_on(&row.code)));
    // H07 says this much only when it is selected.
    assert!(rows("pedantic.tsv").iter().all(|row| !is_on(&row.code) || row.code == "H07"));
}

#[test]
fn one_in_ten_is_false_at_most() {
    let rows = rows("verdicts.tsv");
    let sets: BTreeSet<&str> = rows.iter().map(|row| row.set.as_str()).collect();
    assert_eq!(sets, BTreeSet::from(["further", "named"]));
    for set in sets {
        let here: Vec<&Row> = rows.iter().filter(|row| row.set == set).collect();
        let wrong = here.iter().filter(|row| row.verdict == "false").count();
        assert!(wrong * 10 <= here.len(), "{set}: {wrong} of {}", here.len());
    }
}

#[test]
fn known_bugs_are_found() {
    let rows = rows("verdicts.tsv");
    for (part, code, count) in KNOWN {
        let found = rows.iter().filter(|row| row.place.starts_with(part) && row.code == code && row.verdict == "true");
        assert_eq!(found.count(), count, "{code} in {part}");
    }
}

#[test]
fn the_tables_of_the_readme_are_counted() {
    let readme = read("README.md");
    let mut counts: BTreeMap<String, [usize; 8]> = BTreeMap::new();
    for row in rows("verdicts.tsv") {
        let first = if row.set == "named" { 0 } else { 4 };
        let verdict = VERDICTS.iter().position(|v| *v == row.verdict).unwrap();
        let count = counts.entry(row.code).or_default();
        count[first] += 1;
        count[first + 1 + verdict] += 1;
    }
    for (code, count) in counts {
        let cells: Vec<String> = count.iter().map(usize::to_string).collect();
        let line = format!("| {code} | {} |", cells.join(" | "));
        assert!(readme.contains(&line), "README.md lacks `{line}`");
    }
}

#[test]
fn the_table_of_rules_that_are_off_is_true() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("RULES.md")).unwrap();
    let table = text.split("## Off unless selected").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let listed: BTreeSet<&str> =
        table.lines().filter_map(|l| l.strip_prefix("| ")).filter_map(|l| l.get(..3)).collect();
    let off = lint::all_rules().iter().map(|e| e.rule.code).filter(|code| !is_on(code));
    assert_eq!(&listed - &BTreeSet::from(["cod"]), off.collect());
}
