//! A mistake that `oomph check` finds at a line that another command blames.

use std::fmt::Write;

use serde::Serialize;

/// A finding, as far as it is worth mentioning elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mistake {
    pub code: String,
    pub name: String,
    pub message: String,
    pub file: String,
    pub line: u64,
}

/// Findings at the blamed lines, and how many more there are in those files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Mistakes {
    pub here: Vec<Mistake>,
    /// Files that have further findings, each with their number.
    pub elsewhere: Vec<(String, u64)>,
}

impl Mistakes {
    pub fn is_empty(&self) -> bool {
        self.here.is_empty() && self.elsewhere.is_empty()
    }

    /// Each mistake in a line: `train.py:12: L01 stored-loss: …`.
    pub fn lines(&self, shorten: impl Fn(&str) -> String) -> Vec<String> {
        let here = self
            .here
            .iter()
            .map(|one| format!("{}:{}: {} {}: {}", shorten(&one.file), one.line, one.code, one.name, one.message));
        let elsewhere = self.elsewhere.iter().map(|(file, count)| {
            let file = shorten(file);
            let findings = if *count == 1 { "1 finding".to_owned() } else { format!("{count} findings") };
            let more = if self.here.is_empty() { "" } else { "more " };
            format!("{file} has {}: `oomph check {file}`", findings.replacen(' ', &format!(" {more}"), 1))
        });
        here.chain(elsewhere).collect()
    }

    /// A section of text, empty where there is nothing to say.
    pub fn section(&self, shorten: impl Fn(&str) -> String) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut out = String::from("In the code\n");
        for line in self.lines(shorten) {
            let _ = writeln!(out, "  {line}");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_at_the_line_come_first_and_the_others_are_counted() {
        let here = Mistake {
            code: "L01".into(),
            name: "loss-kept".into(),
            message: "keeps the graph".into(),
            file: "/a/train.py".into(),
            line: 12,
        };
        let mistakes = Mistakes { here: vec![here], elsewhere: vec![("/a/train.py".into(), 2)] };
        let text = mistakes.section(|file| file.trim_start_matches("/a/").to_owned());
        assert_eq!(
            text,
            "In the code\n  train.py:12: L01 loss-kept: keeps the graph\n  train.py has 2 more findings: `oomph check train.py`\n"
        );
        assert_eq!(Mistakes::default().section(str::to_owned), "");
    }
}
