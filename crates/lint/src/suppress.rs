//! Comments that silence findings: `# oomph: ignore[A01]`, `# oomph: ignore`, `# oomph: ignore-file`.

use rustc_hash::FxHashMap;

use crate::config;
use crate::parse::{Parsed, TextRange};
use crate::rule::Rule;
use crate::source::Source;

/// What the comments of a file silence.
#[derive(Debug, Default)]
pub struct Suppressions {
    file: Option<Codes>,
    lines: FxHashMap<usize, Codes>,
    /// Lines that are only a comment: they speak for the next line.
    alone: FxHashMap<usize, Codes>,
}

/// Empty means all rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Codes(Vec<String>);

impl Codes {
    fn cover(&self, rule: &Rule) -> bool {
        self.0.is_empty() || self.0.iter().any(|code| config::names(code, rule))
    }
}

impl Suppressions {
    /// From the comments of a Python file.
    pub fn of(source: &Source, parsed: &Parsed) -> Suppressions {
        match mentions(source.text()) {
            true => Suppressions::collect(source, parsed.comments()),
            false => Suppressions::default(),
        }
    }

    /// From the `#` comments of any other file.
    pub fn of_lines(source: &Source) -> Suppressions {
        if !mentions(source.text()) {
            return Suppressions::default();
        }
        let hashes = memchr::memchr_iter(b'#', source.text().as_bytes()).map(|at| {
            let line = source.line_range(source.line_of((at as u32).into()));
            TextRange::new((at as u32).into(), line.end())
        });
        Suppressions::collect(source, hashes)
    }

    fn collect(source: &Source, comments: impl Iterator<Item = TextRange>) -> Suppressions {
        let mut found = Suppressions::default();
        for range in comments {
            let Some((whole_file, codes)) = directive(&source.text()[range]) else { continue };
            let line = source.line_of(range.start());
            if whole_file {
                found.file = Some(codes);
                continue;
            }
            let before = &source.text()[TextRange::new(source.line_range(line).start(), range.start())];
            let table = if before.trim().is_empty() { &mut found.alone } else { &mut found.lines };
            table.insert(line, codes);
        }
        found
    }

    /// Whether a finding of this rule in this range is silenced.
    pub fn cover(&self, rule: &Rule, range: TextRange, source: &Source) -> bool {
        if self.file.as_ref().is_some_and(|codes| codes.cover(rule)) {
            return true;
        }
        if self.lines.is_empty() && self.alone.is_empty() {
            return false;
        }
        let (first, last) = (source.line_of(range.start()), source.line_of(range.end()));
        let on_line = (first..=last).filter_map(|line| self.lines.get(&line)).any(|codes| codes.cover(rule));
        let above = first.checked_sub(1).and_then(|line| self.alone.get(&line));
        on_line || above.is_some_and(|codes| codes.cover(rule))
    }
}

fn mentions(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"oomph:").is_some()
}

/// Reads `# oomph: ignore[A01, A02]` out of a comment; says whether it is for the whole file.
fn directive(comment: &str) -> Option<(bool, Codes)> {
    let (_, rest) = comment.split_once("oomph:")?;
    let rest = rest.trim_start().strip_prefix("ignore")?;
    let (whole_file, rest) = match rest.strip_prefix("-file") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    match rest.strip_prefix('[') {
        Some(list) => {
            let codes = list.split(']').next()?.split(',').map(|code| code.trim().to_owned());
            Some((whole_file, Codes(codes.filter(|code| !code.is_empty()).collect())))
        }
        None if rest.is_empty() || rest.starts_with([' ', ',', '#', '\t']) => Some((whole_file, Codes::default())),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_read() {
        assert_eq!(directive("# oomph: ignore"), Some((false, Codes::default())));
        assert_eq!(
            directive("# oomph: ignore[A01, L02] because"),
            Some((false, Codes(vec!["A01".into(), "L02".into()])))
        );
        assert_eq!(directive("# type: x  # oomph: ignore-file"), Some((true, Codes::default())));
        assert_eq!(directive("# oomph: ignored"), None);
        assert_eq!(directive("# noqa"), None);
    }
}
