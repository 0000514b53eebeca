//! ## What it finds
//!
//! Only the newer variable, `PYTORCH_ALLOC_CONF`, is set.
//!
//! ## Why
//!
//! Before torch 2.9 nothing reads it, and 2.9.1 ignored it for `expandable_segments`: the allocator keeps its defaults and
//! nothing says so. All releases read `PYTORCH_CUDA_ALLOC_CONF`. Setting both works everywhere.
//!
//! Projects that need torch 2.11 or later are not reported.
//!
//! ## Bad
//!
//! ```python
//! os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
//! ```
//!
//! ## Good
//!
//! ```python
//! os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
//! os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
//! ```
//!
//! ## Fix
//!
//! Suggested, in Python: the other name is set, too.
//!
//! ## References
//!
//! - pytorch/pytorch#183387

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::inputs::settings::{Setter, Setting};
use crate::parse::Stmt;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O09",
    name: "alloc-conf-name",
    severity: Severity::Note,
    fix: Safety::Unsafe,
    wants: &[Want::Assign, Want::Named("setdefault"), Want::Named("putenv")],
    check,
    setting: Some(check_setting),
    ..Rule::DEFAULT
};

const NEW: &str = "PYTORCH_ALLOC_CONF";
const OLD: &str = "PYTORCH_CUDA_ALLOC_CONF";
const MESSAGE: &str =
    "`PYTORCH_ALLOC_CONF` alone is ignored before torch 2.9, and partly in 2.9: set `PYTORCH_CUDA_ALLOC_CONF`, too";

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(setting) = facts.setting_of(node).filter(|s| is_alone(s)) else { return };
    if facts.project.at_least("torch", 2, 11) == Some(true) {
        return;
    }
    let stmt = facts.statement(&node);
    let whole = matches!(stmt, Stmt::Assign(_) | Stmt::Expr(_));
    let edits =
        whole.then(|| facts.insert_after(stmt, &facts.text(stmt).replace(NEW, OLD))).flatten().map(|edit| vec![edit]);
    sink.report(setting.range, MESSAGE).fix_if(false, "Set both names", edits);
}

fn check_setting(setting: &Setting<'_>, sink: &mut Sink<'_>) {
    if setting.setter != Setter::Python && is_alone(setting) {
        sink.report(setting.range, MESSAGE);
    }
}

fn is_alone(setting: &Setting<'_>) -> bool {
    setting.name == NEW && !setting.text.contains(OLD) && !setting.text.contains("PYTORCH_HIP_ALLOC_CONF")
}
