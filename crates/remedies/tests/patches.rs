//! Writes plans into the scripts of `tests/cases` (what people read, as snapshots) and of `python/tests/patches` (pairs that the
//! Python tests run): each ends in a comment that says what was seen of it and which plan is written. A case in JSON says it of
//! a script that is elsewhere in the tree.

use std::fs;
use std::path::{Path, PathBuf};

use remedies::{CannotWrite, Choice, Files, Patch, Script};
use serde_json::Value;

struct Case {
    path: PathBuf,
    text: String,
    arguments: Vec<String>,
    script: Script,
    choices: Vec<Choice>,
}

impl Files for Case {
    fn read(&self, path: &Path) -> Option<String> {
        (path == self.path).then(|| self.text.clone())
    }

    fn script(&self) -> &Path {
        &self.path
    }

    fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

impl Case {
    fn open(path: &Path) -> Case {
        let whole = fs::read_to_string(path).expect("a case");
        if path.extension().is_some_and(|end| end == "json") {
            let plan: Value = serde_json::from_str(&whole).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let script = folder("../..").join(plan["of"].as_str().expect("the script"));
            let text = fs::read_to_string(&script).unwrap_or_else(|e| panic!("{}: {e}", script.display()));
            return Case::of(&script, text, &whole);
        }
        let (text, plan) = whole.split_once("# oomph:\n").expect("a plan behind the script");
        let json: String = plan.lines().map(|line| line.strip_prefix("# ").expect("a comment")).collect();
        Case::of(path, text.trim_end().to_owned() + "\n", &json)
    }

    fn of(path: &Path, text: String, json: &str) -> Case {
        let mut plan: Value = serde_json::from_str(json).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        placed(&mut plan["script"], path, &text);
        let mut case = Case {
            path: path.to_path_buf(),
            text,
            arguments: serde_json::from_value(plan["arguments"].clone()).unwrap_or_default(),
            script: serde_json::from_value(plan["script"].clone()).expect("what was seen"),
            choices: plan["plan"].as_array().expect("a plan").iter().map(chosen).collect(),
        };
        let mut script = case.script.clone();
        remedies::look(&mut script, &case);
        case.script = script;
        case
    }

    fn write(&self) -> Result<Patch, CannotWrite> {
        remedies::write(&self.choices, &self.script, self)
    }
}

fn chosen(choice: &Value) -> Choice {
    let id = choice["id"].as_str().expect("an id");
    let remedy = remedies::find(id).unwrap_or_else(|| panic!("no remedy {id}"));
    Choice { remedy, settings: choice["settings"].as_object().cloned().unwrap_or_default() }
}

/// Places are given by a part of their line: `"made_at": "model ="`.
fn placed(value: &mut Value, path: &Path, text: &str) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map.iter_mut() {
                match inner.as_str().filter(|_| key == "at" || key.ends_with("_at")) {
                    Some(part) => {
                        let line =
                            text.lines().position(|l| l.contains(part)).unwrap_or_else(|| panic!("no line {part}"));
                        *inner = serde_json::json!({"file": path, "line": line + 1});
                    }
                    None => placed(inner, path, text),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|inner| placed(inner, path, text)),
        _ => {}
    }
}

fn folder(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

fn scripts(relative: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(relative)).expect("the folder of cases");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let is_case = |path: &PathBuf| path.extension().is_some_and(|end| end == "py" || end == "json");
    paths.retain(|path| is_case(path) && !path.to_string_lossy().ends_with(".after.py"));
    paths.sort();
    paths
}

fn parses(text: &str) -> bool {
    !lint::parse::script(text).has_errors()
}

fn shown(case: &Case, written: &Result<Patch, CannotWrite>) -> String {
    let patch = match written {
        Ok(patch) => patch,
        Err(why) => return format!("cannot write {}: {why}\n{}\n", why.remedy, why.instruction),
    };
    let mut out = patch.diff(|path| PathBuf::from(path.file_name().expect("a file")));
    out.extend(patch.environment.iter().map(|(name, value)| format!("environment: {name}={value}\n")));
    if let Some(command) = &patch.command {
        out.push_str(&format!("command: {}\n", command.join(" ")));
    }
    out.extend(patch.notes.iter().map(|note| format!("note: {note}\n")));
    for (path, _, new) in &patch.files {
        assert!(parses(new), "{} was broken:\n{new}", path.display());
        assert_eq!(path, &case.path);
    }
    out
}

#[test]
fn plans_are_written_as_a_person_would() {
    for path in scripts("tests/cases") {
        let case = Case::open(&path);
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        insta::assert_snapshot!(name, shown(&case, &case.write()));
    }
}

/// The second file of each pair is what the Python tests run. `UPDATE_PATCHES=1` writes it anew.
#[test]
fn pairs_are_what_is_written() {
    for path in scripts("../../python/tests/patches") {
        let case = Case::open(&path);
        let patch = case.write().unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let new = patch.files.first().map_or(&case.text, |(_, _, new)| new);
        let after = path.with_extension("after.py");
        if std::env::var_os("UPDATE_PATCHES").is_some() {
            fs::write(&after, new).expect("the pair's second file");
        }
        let known = fs::read_to_string(&after).unwrap_or_default();
        assert_eq!(&known, new, "{} is not what is written", after.display());
    }
}
