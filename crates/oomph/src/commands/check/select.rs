//! Rules by what the user called them.

use crate::args::CheckArgs;
use crate::error::Error;

const MOST_SUGGESTIONS: usize = 3;
/// Below this, a suggestion would only puzzle.
const LEAST_LIKENESS: f64 = 0.5;

/// A rule's page, for `--explain`.
pub fn page(code: &str) -> Result<String, Error> {
    lint::find_rule(code).map(lint::Entry::documentation).ok_or_else(|| unknown(code))
}

/// Refuses codes and names that mean no rule.
pub fn known(options: &CheckArgs) -> Result<(), Error> {
    let given = [&options.select, &options.extend_select, &options.ignore].into_iter().flatten();
    for selector in given {
        lint::check_selectors(std::slice::from_ref(selector)).map_err(|_| unknown(selector))?;
    }
    Ok(())
}

fn unknown(asked: &str) -> Error {
    Error::UnknownRule { asked: asked.to_owned(), nearest: nearest(asked) }
}

fn nearest(asked: &str) -> Vec<String> {
    let rated = lint::all_rules().iter().map(|entry| (likeness(entry, asked), entry.rule));
    let mut rated: Vec<_> = rated.filter(|(likeness, _)| *likeness >= LEAST_LIKENESS).collect();
    rated.sort_by(|a, b| b.0.total_cmp(&a.0));
    rated.into_iter().take(MOST_SUGGESTIONS).map(|(_, rule)| format!("{} ({})", rule.code, rule.name)).collect()
}

fn likeness(entry: &lint::Entry, asked: &str) -> f64 {
    let code = strsim::normalized_damerau_levenshtein(entry.rule.code, &asked.to_uppercase());
    let name = strsim::normalized_damerau_levenshtein(entry.rule.name, &asked.to_lowercase());
    code.max(name)
}
