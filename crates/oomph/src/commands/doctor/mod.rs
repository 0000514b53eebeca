//! `oomph doctor`: what of oomph works in this environment, and why the rest does not.

mod check;
mod compiler;
mod ghost;
mod interpreter;
mod symbols;
mod system;
mod torch;

use serde::Serialize;

use crate::args::DoctorArgs;
use crate::exit::ExitStatus;
use crate::output;
use check::{Check, Found, Place};

/// Every check, in the order a person would make them: each stands on the ones before.
const CHECKS: &[Check] = &[
    system::LINUX,
    system::CACHE,
    interpreter::FOUND,
    torch::INSTALLED,
    torch::BUILD,
    torch::VERSION,
    torch::CUDNN,
    symbols::COMPLETE,
    ghost::STARTS,
    compiler::FOUND,
];

pub fn run(options: &DoctorArgs) -> ExitStatus {
    let place = Place::new(options.python.as_deref());
    let results: Vec<Line> = CHECKS.iter().map(|check| Line::new(check, (check.run)(&place))).collect();
    let ok = results.iter().all(|line| line.status != "fail");
    output::answer(&if options.json { json(ok, &results) } else { text(ok, &results) });
    if ok { ExitStatus::Fits } else { ExitStatus::DoesNotFit }
}

/// One check and what it found, ready to be written.
#[derive(Serialize)]
struct Line {
    id: &'static str,
    title: &'static str,
    status: &'static str,
    message: String,
    fix: Option<String>,
}

impl Line {
    fn new(check: &Check, found: Found) -> Line {
        let (status, message, fix) = match found {
            Found::Pass(message) => ("ok", message, None),
            Found::Warn(message, fix) => ("warn", message, Some(fix)),
            Found::Fail(message, fix) => ("fail", message, Some(fix)),
            Found::Skip(why) => ("skip", why, None),
        };
        Line { id: check.id, title: check.title, status, message, fix }
    }
}

fn text(ok: bool, lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        out.push_str(&format!("{:<4}  {:<22}  {}\n", line.status, line.title, line.message));
        if let Some(fix) = &line.fix {
            out.push_str(&format!("{:<4}  {:<22}  hint: {fix}\n", "", ""));
        }
    }
    out.push_str(if ok { "\nTries work here\n" } else { "\nTries do not work here yet\n" });
    out
}

fn json(ok: bool, lines: &[Line]) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        ok: bool,
        checks: &'a [Line],
    }
    let document = Document { schema: 1, ok, checks: lines };
    serde_json::to_string_pretty(&document).expect("plain data always serialises") + "\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_dotted_and_unique() {
        let ids: BTreeSet<&str> = CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), CHECKS.len());
        assert!(ids.iter().all(|id| id.split('.').count() == 2));
    }

    #[test]
    fn a_hint_follows_what_it_is_for() {
        let line = Line::new(&compiler::FOUND, Found::Warn("no C compiler".into(), "install gcc".into()));
        insta::assert_snapshot!(text(true, &[line]), @r"
        warn  torch.compile           no C compiler
                                      hint: install gcc

        Tries work here
        ");
    }
}
