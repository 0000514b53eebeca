//! The list of rules: what there is to select.

use lint::rule::{Default as Runs, Safety};
use lint::{Entry, Rule};
use serde::Serialize;

pub fn rules_text(rules: &[Entry]) -> String {
    let width = rules.iter().map(|entry| entry.rule.name.len()).max().unwrap_or(0);
    rules.iter().map(|entry| line(entry.rule, width)).collect()
}

fn line(rule: &Rule, width: usize) -> String {
    let fix = match rule.fix {
        Safety::Safe => "safe fix",
        Safety::Sometimes => "fix, at times safe",
        Safety::Unsafe => "suggested fix",
        Safety::None => "",
    };
    let off = if rule.default == Runs::Off { "only when selected" } else { "" };
    let remarks: Vec<&str> = [fix, off].into_iter().filter(|remark| !remark.is_empty()).collect();
    let severity = rule.severity.as_str();
    let text = format!("{}  {:width$}  {severity:<7}  {}", rule.code, rule.name, remarks.join("; "));
    format!("{}\n", text.trim_end())
}

pub fn rules_json(rules: &[Entry]) -> String {
    let rows: Vec<Row> = rules.iter().map(Row::of).collect();
    serde_json::to_string_pretty(&rows).expect("plain data always serialises") + "\n"
}

#[derive(Serialize)]
struct Row {
    code: &'static str,
    name: &'static str,
    severity: &'static str,
    fix: &'static str,
    on_by_default: bool,
    documentation: String,
}

impl Row {
    fn of(entry: &Entry) -> Row {
        let rule = entry.rule;
        Row {
            code: rule.code,
            name: rule.name,
            severity: rule.severity.as_str(),
            fix: match rule.fix {
                Safety::Safe => "safe",
                Safety::Sometimes => "sometimes",
                Safety::Unsafe => "unsafe",
                Safety::None => "none",
            },
            on_by_default: rule.default == Runs::On,
            documentation: entry.documentation(),
        }
    }
}
