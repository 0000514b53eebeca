//! The crates use each other as ARCHITECTURE.md says, and in no other direction.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Rows of the table under "## Map": the crate, and the crates it may use.
fn allowed() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let map = text.split("\n## Map\n").nth(1).expect("a section named Map").split("\n## ").next().unwrap();
    let rows = map.lines().filter(|line| line.starts_with("| `crates/"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').trim_start_matches("crates/");
        let uses = cells[3].split(',').map(|word| word.trim().trim_matches('`').to_owned());
        (name.to_owned(), uses.filter(|word| !word.is_empty() && word != "none").collect())
    })
    .collect()
}

/// What the manifests say: every dependency by path is a crate of ours.
fn used() -> BTreeMap<String, Vec<String>> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    crates
        .map(|folder| {
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let manifest: toml::Table = manifest.parse().unwrap();
            let kinds = ["dependencies", "build-dependencies", "dev-dependencies"];
            let tables = kinds.iter().filter_map(|kind| manifest.get(*kind)?.as_table());
            let ours = tables.flatten().filter(|(_, value)| value.get("path").is_some());
            let mut names: Vec<String> = ours.map(|(name, _)| name.clone()).collect();
            names.sort();
            (folder.file_name().unwrap().to_string_lossy().into_owned(), names)
        })
        .collect()
}

#[test]
fn the_map_and_the_manifests_agree() {
    assert_eq!(used(), allowed());
}
