//! The JSON of a comparison: the keys of a single explanation for the run that matters most, and `runs` beside them.

use explain::{Comparison, Ran};
use serde_json::{Value, json};

use super::super::Explained;
use super::super::json::{document, location, written};
use super::{About, main_run};
use crate::mistake::Mistakes;

pub fn compared_json(compared: &Comparison, about: &About) -> String {
    let mut top = main_run(compared).map(|run| whole(run, about)).unwrap_or_else(|| json!({}));
    let by_category = compared.by_category.iter().map(|row| json!({"category": row.what.word(), "bytes": row.bytes}));
    let by_module = compared.by_module.iter().map(|row| json!({"module": row.what, "bytes": row.bytes}));
    let by_line = compared.by_line.iter().map(|row| {
        let mut value = location(&row.what);
        value["bytes"] = json!(row.bytes);
        value
    });
    let name = |index: Option<usize>| index.map(|index| compared.runs[index].name.clone());
    top["runs"] = compared.runs.iter().map(|run| named(run, about)).collect();
    top["compared"] = json!({
        "highest": name(compared.highest),
        "lowest": name(compared.lowest),
        "first_dead": name(compared.first_dead),
        "by_category": by_category.collect::<Vec<_>>(),
        "by_module": by_module.collect::<Vec<_>>(),
        "by_line": by_line.collect::<Vec<_>>(),
    });
    written(&top)
}

fn named(run: &Ran, about: &About) -> Value {
    let mut value = whole(run, about);
    value["name"] = json!(run.name);
    value
}

fn whole(run: &Ran, about: &About) -> Value {
    let about = About { files: vec![run.name.clone()], ..about.clone() };
    document(&Explained {
        explanation: run.explanation.clone(),
        about,
        curve: None,
        what_if: None,
        mistakes: Mistakes::default(),
    })
}
