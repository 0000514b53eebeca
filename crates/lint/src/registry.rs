//! All rules, and their documentation.

use std::sync::OnceLock;

use crate::rule::Rule;

/// A rule with the source of its file, from which its documentation is taken.
pub struct Entry {
    pub rule: &'static Rule,
    pub(crate) source: &'static str,
}

impl Entry {
    /// The rule's page in Markdown: the `//!` text at the head of its file.
    pub fn documentation(&self) -> String {
        let lines = self.source.lines().take_while(|line| line.starts_with("//!"));
        let text: Vec<&str> = lines.map(|line| line[3..].strip_prefix(' ').unwrap_or(&line[3..])).collect();
        format!("# {} `{}`\n\n{}\n", self.rule.code, self.rule.name, text.join("\n").trim())
    }
}

/// Every rule, sorted by code.
pub fn all() -> &'static [Entry] {
    static ALL: OnceLock<Vec<Entry>> = OnceLock::new();
    ALL.get_or_init(|| {
        let every = crate::rules::GROUPS.iter().copied().flatten();
        let mut all: Vec<Entry> = every.map(|(rule, source)| Entry { rule, source }).collect();
        all.sort_by_key(|entry| entry.rule.code);
        all
    })
}

/// The rule with this code or name.
pub fn find(code_or_name: &str) -> Option<&'static Entry> {
    all().iter().find(|e| e.rule.code.eq_ignore_ascii_case(code_or_name) || e.rule.name == code_or_name)
}

/// Declares the rules of a group: one file each, in this folder, with a constant `RULE`.
macro_rules! rules {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*
        pub(crate) const RULES: &[(&crate::rule::Rule, &str)] =
            &[$((&$module::RULE, include_str!(concat!(stringify!($module), ".rs")))),*];
    };
}
pub(crate) use rules;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Safety;
    use rustc_hash::FxHashSet;

    #[test]
    fn codes_and_names_are_unique_and_well_formed() {
        let mut seen = FxHashSet::default();
        for entry in all() {
            let Rule { code, name, .. } = entry.rule;
            assert!(code.len() == 3 && code.as_bytes()[0].is_ascii_uppercase(), "{code}");
            assert!(code[1..].bytes().all(|b| b.is_ascii_digit()), "{code}");
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{name}");
            assert!(seen.insert(*code) && seen.insert(*name), "{code} {name} twice");
        }
    }

    #[test]
    fn every_rule_is_documented() {
        for entry in all() {
            let text = entry.documentation();
            for section in ["## What it finds", "## Why", "## Bad", "## Good", "## Fix", "## References"] {
                assert!(text.contains(&format!("\n{section}\n")), "{} lacks `{section}`", entry.rule.code);
            }
            let fixes = text.split("\n## Fix\n").nth(1).unwrap_or("");
            let says_none = fixes.trim_start().starts_with("None");
            assert_eq!(says_none, entry.rule.fix == Safety::None, "{}: `## Fix` and `fix:` disagree", entry.rule.code);
        }
    }

    #[test]
    fn every_rule_wants_something() {
        for entry in all() {
            assert!(!entry.rule.wants.is_empty() || entry.rule.setting.is_some(), "{}", entry.rule.code);
        }
    }

    #[test]
    fn rules_are_found_by_code_and_name() {
        for entry in all() {
            assert_eq!(find(entry.rule.code).unwrap().rule.code, entry.rule.code);
            assert_eq!(find(entry.rule.name).unwrap().rule.code, entry.rule.code);
        }
        assert!(find("Z99").is_none());
    }
}
