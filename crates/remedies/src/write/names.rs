//! Names and imports in the user's file: how it spells a library object, where a new import goes, names that are free.

use lint::facts::Facts;
use lint::fix::edit::Edit;
use lint::parse::{Ranged, Stmt, TextRange};

use super::arguments::WIDEST;

/// How the file spells a module, with the import that it lacks: `torch`, or `t` after `import torch as t`.
pub fn module(facts: &Facts<'_>, name: &str) -> (String, Option<Edit>) {
    match facts.spelling(name) {
        Some(spelling) => (spelling, None),
        None => (name.to_owned(), import(facts, &format!("import {name}"))),
    }
}

/// How the file spells something of a module, with the import that it lacks:
/// `checkpoint` and `from torch.utils.checkpoint import checkpoint`.
pub fn from(facts: &Facts<'_>, module: &str, name: &str) -> (String, Option<Edit>) {
    let full = format!("{module}.{name}");
    let bare = facts.spelling(&full).filter(|spelling| !spelling.contains('.'));
    if let Some(spelling) = bare {
        return (spelling, None);
    }
    if !is_name_of(facts.source.text(), name) {
        return (name.to_owned(), import(facts, &format!("from {module} import {name}")));
    }
    match facts.spelling(&full) {
        Some(dotted) => (dotted, None),
        None => (full.clone(), import(facts, &format!("import {module}"))),
    }
}

/// Modules of Python itself that training scripts import: their imports stand together, first.
const STANDARD: &[&str] = &[
    "argparse",
    "collections",
    "contextlib",
    "copy",
    "datetime",
    "functools",
    "json",
    "logging",
    "math",
    "os",
    "pathlib",
    "random",
    "sys",
    "tempfile",
    "time",
    "typing",
];

/// A new import on its own line, behind the imports of the same library, or behind the file's first imports.
pub fn import(facts: &Facts<'_>, code: &str) -> Option<Edit> {
    let library = code.split([' ', '.']).nth(1).unwrap_or_default();
    let imports = leading_imports(facts);
    let of = |stmt: &&&Stmt, libraries: &[&str]| {
        let text = &facts.source.text()[stmt.range()];
        text.split([' ', '.', ',']).nth(1).is_some_and(|first| libraries.contains(&first))
    };
    if STANDARD.contains(&library) {
        return match imports.iter().rev().find(|stmt| of(stmt, STANDARD)) {
            Some(stmt) => facts.insert_after(stmt, code),
            None => first_code(facts).and_then(|stmt| facts.insert_before(stmt, &format!("{code}\n\n"))),
        };
    }
    let module = code.split(' ').nth(1).unwrap_or_default();
    if let Some(edit) = joined(facts, &imports, code, module) {
        return Some(edit);
    }
    let same: Vec<&&Stmt> = imports.iter().filter(|stmt| of(stmt, &[library])).collect();
    // Sorted as import sorters do: modules of one library by their names, a new library before the next one.
    let later = |stmt: &&&&Stmt| code.starts_with("from ") && from_module(stmt).is_some_and(|known| known > module);
    if let Some(next) = same.iter().find(later) {
        return facts.insert_before(next, code);
    }
    let installed = installed(facts, &imports);
    // `import x` before any `from x import y`.
    let is_later = |stmt: &&&Stmt| match stmt.is_import_from_stmt() {
        true => code.starts_with("import ") || root(facts, stmt) > library,
        false => code.starts_with("import ") && root(facts, stmt) > library,
    };
    match (same.last(), installed.iter().find(is_later), installed.last()) {
        (Some(stmt), ..) => facts.insert_after(stmt, code),
        (None, Some(next), _) => facts.insert_before(next, code),
        (None, None, Some(last)) => facts.insert_after(last, code),
        (None, None, None) => first_code(facts).and_then(|stmt| facts.insert_before(stmt, code)),
    }
}

/// The imports of installed libraries: the first that are not of Python itself, up to a line of air. The user's own come behind.
fn installed<'s, 'a>(facts: &Facts<'a>, imports: &'s [&'a Stmt]) -> &'s [&'a Stmt] {
    let standard = imports.iter().take_while(|stmt| STANDARD.contains(&root(facts, stmt))).count();
    let others = &imports[standard..];
    let line = |at| facts.source.line_of(at);
    let air = others.windows(2).position(|pair| line(pair[1].start()) > line(pair[0].end()) + 1);
    match others.is_empty() {
        true => imports,
        false => &others[..air.map_or(others.len(), |at| at + 1)],
    }
}

/// The names go to an import of the same module, where there is one on a line of its own with room for them.
fn joined(facts: &Facts<'_>, imports: &[&Stmt], code: &str, module: &str) -> Option<Edit> {
    let (_, wanted) = code.strip_prefix("from ")?.split_once(" import ")?;
    let known = imports.iter().find(|stmt| from_module(stmt) == Some(module))?;
    let text = &facts.source.text()[known.range()];
    if text.contains(['(', '*', '\\']) || text.len() + wanted.len() + 2 > WIDEST {
        return None;
    }
    let aliases = &known.as_import_from_stmt()?.names;
    let mut names: Vec<&str> = aliases.iter().map(|alias| &facts.source.text()[alias.range()]).collect();
    let is_sorted = names.is_sorted_by_key(|name| rank(name));
    names.extend(wanted.split(", "));
    if is_sorted {
        names.sort_by_key(|name| rank(name));
    }
    Some(Edit::replace(TextRange::new(aliases.first()?.start(), known.end()), names.join(", ")))
}

/// How import sorters order names: constants, classes, then the rest.
fn rank(name: &str) -> (bool, bool, &str) {
    let is_constant = name.len() > 1 && !name.contains(char::is_lowercase);
    (!is_constant, !name.starts_with(char::is_uppercase), name)
}

fn from_module(stmt: &Stmt) -> Option<&str> {
    stmt.as_import_from_stmt()?.module.as_ref().map(|module| module.as_str())
}

/// The library that an import is of.
fn root<'f>(facts: &'f Facts<'_>, stmt: &Stmt) -> &'f str {
    facts.source.text()[stmt.range()].split([' ', '.', ',']).nth(1).unwrap_or_default()
}

/// How the file spells several things of one module, with one import for those that it lacks.
pub fn several(facts: &Facts<'_>, module: &str, wanted: &[&str]) -> (Vec<String>, Option<Edit>) {
    let known = |name: &str| facts.spelling(&format!("{module}.{name}")).filter(|spelling| !spelling.contains('.'));
    let mut missing: Vec<&str> = wanted.iter().copied().filter(|name| known(name).is_none()).collect();
    missing.sort_unstable();
    let code = format!("from {module} import {}", missing.join(", "));
    let edit = if missing.is_empty() { None } else { import(facts, &code) };
    (wanted.iter().map(|name| known(name).unwrap_or_else(|| (*name).to_owned())).collect(), edit)
}

/// A statement at the margin behind the file's first imports, with a line of air: a constant, a function.
pub fn behind_imports(facts: &Facts<'_>, code: &str) -> Option<Edit> {
    match leading_imports(facts).last() {
        Some(stmt) => facts.insert_after(stmt, &format!("\n{code}")),
        None => first_code(facts).and_then(|stmt| facts.insert_before(stmt, &format!("{code}\n"))),
    }
}

fn leading_imports<'a>(facts: &Facts<'a>) -> Vec<&'a Stmt> {
    let body = facts.parsed.body().iter();
    let code = body.skip_while(|stmt| is_docstring(stmt));
    code.take_while(|stmt| matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_))).collect()
}

fn first_code<'a>(facts: &Facts<'a>) -> Option<&'a Stmt> {
    facts.parsed.body().iter().find(|stmt| !is_docstring(stmt))
}

fn is_docstring(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Expr(expr) if expr.value.is_string_literal_expr())
}

/// The first of these names that the file does not use.
pub fn fresh(facts: &Facts<'_>, candidates: &[&str]) -> String {
    let free = candidates.iter().find(|name| !is_name_of(facts.source.text(), name));
    free.map_or_else(|| format!("{}_", candidates[candidates.len() - 1]), |name| (*name).to_owned())
}

/// Whether a text has a word that is not an attribute: `loss`, but not `output.loss`.
pub fn is_name_of(text: &str, word: &str) -> bool {
    let free = |at: usize| !text[..at].ends_with('.');
    words(text, word).any(free)
}

/// Whether a text has a word.
pub fn is_word_of(text: &str, word: &str) -> bool {
    words(text, word).next().is_some()
}

fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let whole = move |at: &usize| {
        let at = *at;
        !text[..at].chars().next_back().is_some_and(is_part)
            && !text[at + word.len()..].chars().next().is_some_and(is_part)
    };
    text.match_indices(word).map(|(at, _)| at).filter(whole)
}
