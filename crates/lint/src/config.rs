//! What is checked: selected and ignored rules, excluded and per-file-ignored paths. From `[tool.oomph]` and from the command line.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::Error;
use crate::registry;
use crate::rule::{Default as Runs, Rule};

/// Settings of one project, or of the command line.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Only these rules; nothing means those that are on by default.
    pub select: Option<Vec<String>>,
    pub extend_select: Vec<String>,
    pub ignore: Vec<String>,
    /// Rules that are off for some files.
    pub per_file_ignores: Vec<(Patterns, Vec<String>)>,
    /// Files that are not looked at when found in a folder.
    pub exclude: Option<Patterns>,
}

/// Paths in gitignore's language, relative to a folder.
#[derive(Debug, Clone)]
pub struct Patterns(Gitignore);

impl Patterns {
    pub fn new(root: &Path, patterns: &[String]) -> Result<Patterns, Error> {
        let mut builder = GitignoreBuilder::new(root);
        for pattern in patterns {
            let bad = |e: ignore::Error| Error::Pattern { pattern: pattern.clone(), message: e.to_string() };
            builder.add_line(None, pattern).map_err(bad)?;
        }
        let bad = |e: ignore::Error| Error::Pattern { pattern: patterns.join(", "), message: e.to_string() };
        Ok(Patterns(builder.build().map_err(bad)?))
    }

    pub fn matches(&self, path: &Path) -> bool {
        let inside = path.strip_prefix(self.0.path()).is_ok() || path.is_relative();
        inside && self.0.matched_path_or_any_parents(path, path.is_dir()).is_ignore()
    }
}

impl Config {
    /// The `[tool.oomph]` table of a `pyproject.toml` in this folder.
    pub(crate) fn from_pyproject(root: &Path, text: &str) -> Result<Config, String> {
        let file: toml::Table = text.parse().map_err(|e: toml::de::Error| e.message().to_owned())?;
        let Some(table) = file.get("tool").and_then(|t| t.get("oomph")).and_then(|t| t.as_table()) else {
            return Ok(Config::default());
        };
        let mut config = Config::default();
        for (key, value) in table {
            config.set(root, key, value)?;
        }
        Ok(config)
    }

    fn set(&mut self, root: &Path, key: &str, value: &toml::Value) -> Result<(), String> {
        match key {
            "select" => self.select = Some(rules(key, value)?),
            "extend-select" => self.extend_select = rules(key, value)?,
            "ignore" => self.ignore = rules(key, value)?,
            "exclude" => {
                let patterns = strings(key, value)?;
                self.exclude = Some(Patterns::new(root, &patterns).map_err(|e| e.to_string())?);
            }
            "per-file-ignores" => {
                let table = value.as_table().ok_or("[tool.oomph] per-file-ignores: expected a table")?;
                for (pattern, codes) in table {
                    let patterns = Patterns::new(root, std::slice::from_ref(pattern)).map_err(|e| e.to_string())?;
                    self.per_file_ignores.push((patterns, rules(key, codes)?));
                }
            }
            _ => return Err(format!("[tool.oomph] has no setting `{key}`")),
        }
        Ok(())
    }

    pub fn excludes(&self, path: &Path) -> bool {
        self.exclude.as_ref().is_some_and(|patterns| patterns.matches(path))
    }

    fn ignores_in(&self, path: &Path) -> impl Iterator<Item = &String> {
        let hit = self.per_file_ignores.iter().filter(|(patterns, _)| patterns.matches(path));
        hit.flat_map(|(_, codes)| codes)
    }
}

/// What to check and how, for a run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The command line's selection; it overrules the projects' where it says something.
    pub config: Config,
    /// Look at files that `.gitignore` hides, too.
    pub no_gitignore: bool,
    /// Leave project files unread.
    pub isolated: bool,
    /// Use at most this many threads; 0 is all cores.
    pub threads: usize,
    /// Files above this size are skipped with a remark; 0 is the usual limit.
    pub largest: u64,
    /// The folder that relative paths start from: projects are looked for above it, and patterns match below it.
    pub folder: PathBuf,
}

impl Options {
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let joined = self.folder.join(path);
        // `./train.py` and `train.py` are the same file.
        joined.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
    }

    /// As the user would write it.
    pub(crate) fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.folder).unwrap_or(path).to_path_buf()
    }
}

/// The rules that run on a file.
#[derive(Clone)]
pub struct Selection {
    on: Vec<bool>,
    /// Named by the user, not only on by default.
    asked: Vec<bool>,
}

impl Selection {
    pub fn contains(&self, index: usize) -> bool {
        self.on[index]
    }

    /// Whether the user named the rule: then it also says what it keeps to itself otherwise.
    pub fn is_asked(&self, index: usize) -> bool {
        self.asked[index]
    }

    /// Every rule, also those that are off by default.
    pub fn all() -> Selection {
        let every = vec![true; registry::all().len()];
        Selection { on: every.clone(), asked: every }
    }

    /// Only rules whose code or name is given.
    pub fn only(codes: &[&str]) -> Selection {
        let on: Vec<bool> = registry::all().iter().map(|e| codes.iter().any(|c| names(c, e.rule))).collect();
        Selection { asked: on.clone(), on }
    }

    /// Those that a project and the command line select for a file.
    pub fn of(project: &Config, command: &Config, path: &Path) -> Selection {
        let select = command.select.as_ref().or(project.select.as_ref());
        let on = registry::all().iter().map(|entry| {
            let rule = entry.rule;
            let by = |codes: &[String]| codes.iter().any(|code| names(code, rule));
            let selected = match select {
                Some(codes) => by(codes),
                None => rule.default == Runs::On,
            };
            let extended = by(&project.extend_select) || by(&command.extend_select);
            let ignored = by(&project.ignore) && !command.select.as_ref().is_some_and(|s| names_exactly(s, rule));
            (selected || extended) && !ignored && !by(&command.ignore)
        });
        let mut on: Vec<bool> = on.collect();
        let hidden: Vec<&String> = project.ignores_in(path).chain(command.ignores_in(path)).collect();
        if !hidden.is_empty() {
            for (index, entry) in registry::all().iter().enumerate() {
                on[index] &= !hidden.iter().any(|code| names(code, entry.rule));
            }
        }
        let asked = registry::all().iter().map(|entry| {
            let lists = select.into_iter().chain([&project.extend_select, &command.extend_select]);
            lists.flatten().any(|code| names(code, entry.rule))
        });
        Selection { asked: asked.collect(), on }
    }
}

/// Whether a selector means a rule: `A01`, `A`, `ALL`, `zero-grad-every-microbatch`.
pub fn names(selector: &str, rule: &Rule) -> bool {
    let is_prefix = selector.len() <= rule.code.len() && rule.code[..selector.len()].eq_ignore_ascii_case(selector);
    (is_prefix && !selector.is_empty()) || selector.eq_ignore_ascii_case("all") || selector == rule.name
}

fn names_exactly(selectors: &[String], rule: &Rule) -> bool {
    selectors.iter().any(|s| s.eq_ignore_ascii_case(rule.code) || s == rule.name)
}

/// Checks that each selector means at least one rule.
pub fn known(selectors: &[String]) -> Result<(), Error> {
    match selectors.iter().find(|s| !registry::all().iter().any(|entry| names(s, entry.rule))) {
        Some(unknown) => Err(Error::UnknownRule(unknown.clone())),
        None => Ok(()),
    }
}

fn rules(key: &str, value: &toml::Value) -> Result<Vec<String>, String> {
    let codes = strings(key, value)?;
    known(&codes).map_err(|e| format!("[tool.oomph] {key}: {e}"))?;
    Ok(codes)
}

fn strings(key: &str, value: &toml::Value) -> Result<Vec<String>, String> {
    let wrong = || format!("[tool.oomph] {key}: expected a list of strings");
    value.as_array().ok_or_else(wrong)?.iter().map(|v| v.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}
