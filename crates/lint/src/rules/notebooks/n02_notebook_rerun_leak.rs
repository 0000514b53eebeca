//! ## What it finds
//!
//! A notebook cell that builds a model on the GPU under a global name, without letting go of the one before. Off unless
//! selected: it is true of most notebooks.
//!
//! ## Why
//!
//! When the cell is run again, the new model is built while the old one still has its name: both are on the GPU, and the old
//! optimizer's state, too. After an error the traceback holds the failed frames as well.
//!
//! ## Bad
//!
//! ```python
//! model = Net().cuda()
//! optimizer = torch.optim.AdamW(model.parameters())
//! ```
//!
//! ## Good
//!
//! ```python
//! model = optimizer = None
//! torch.cuda.empty_cache()
//! model = Net().cuda()
//! optimizer = torch.optim.AdamW(model.parameters())
//! ```
//!
//! ## Fix
//!
//! Suggested: the name is set to `None` before the model is built.
//!
//! ## References
//!
//! - IPython keeps `sys.last_traceback` and `sys.last_value`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged, Stmt, TextRange};
use crate::rule::{Default, Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "N02",
    name: "notebook-rerun-leak",
    severity: Severity::Note,
    default: Default::Off,
    fix: Safety::Unsafe,
    wants: &[Want::Assign],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(stmt @ Stmt::Assign(assign)) = node.stmt() else { return };
    let Some(cell) = facts.source.notebook().and_then(|notebook| notebook.cell_at(stmt.start())) else { return };
    let ([Expr::Name(name)], Expr::Call(call), None) = (&assign.targets[..], &*assign.value, facts.parent(stmt)) else {
        return;
    };
    let before = &facts.source.text()[TextRange::new(cell.range.start(), stmt.start())];
    if !builds_on_gpu(facts, call) || lets_go(before, name.id.as_str()) {
        return;
    }
    let edit = facts.insert_before(stmt, &format!("{} = None", name.id)).map(|edit| vec![edit]);
    sink.report(stmt, "run again, this cell builds a second model on the GPU while the first still has its name")
        .fix_if(false, "Let go of the old one first", edit);
}

/// `Net(…).cuda()`, `Net.from_pretrained(…).to(device)`.
fn builds_on_gpu<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let Some(attribute @ ("cuda" | "to")) = facts.called_name(call) else { return false };
    let to_cpu = call.arguments.find_positional(0).is_some_and(|d| facts.text(d).contains("cpu"));
    let Some(Expr::Call(made)) = call.func.as_attribute_expr().map(|a| &*a.value) else { return false };
    let constructs = match facts.called_name(made) {
        Some("from_pretrained" | "create_model") => true,
        Some(name) => name.starts_with(|c: char| c.is_ascii_uppercase()) && !name.ends_with("Tensor"),
        None => false,
    };
    constructs && !(attribute == "to" && (to_cpu || call.arguments.is_empty()))
}

/// The cell has deleted or replaced the name already.
fn lets_go(before: &str, name: &str) -> bool {
    before.lines().map(str::trim).any(|line| {
        (line.starts_with("del ") && line.contains(name))
            || (line.contains(name) && line.trim_end_matches(';').ends_with("None"))
            || line.starts_with("globals().pop")
            || line.starts_with("%reset")
    })
}
