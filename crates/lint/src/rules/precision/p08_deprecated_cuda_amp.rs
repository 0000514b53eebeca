//! ## What it finds
//!
//! `torch.cuda.amp.autocast` and `torch.cuda.amp.GradScaler`, called or imported.
//!
//! ## Why
//!
//! They are deprecated since torch 2.4 and print a `FutureWarning`; `torch.amp` has both, with the device as first argument,
//! and works on other devices, too.
//!
//! Projects that support torch before 2.3, where `torch.amp.GradScaler` does not exist, are not reported.
//!
//! ## Bad
//!
//! ```python
//! from torch.cuda.amp import GradScaler, autocast
//! scaler = GradScaler()
//! with autocast():
//!     loss = model(x).mean()
//! ```
//!
//! ## Good
//!
//! ```python
//! from torch.amp import GradScaler, autocast
//! scaler = GradScaler("cuda")
//! with autocast("cuda"):
//!     loss = model(x).mean()
//! ```
//!
//! ## Fix
//!
//! Safe for `autocast`, and for `GradScaler` in projects that need at least torch 2.3; suggested where the project does not say.
//! The import and all calls change together; the old first argument of `autocast` becomes `enabled=`.
//!
//! ## References
//!
//! - PyTorch 2.4 release notes, deprecations

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::{ExprCall, StmtImportFrom};
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P08",
    name: "deprecated-cuda-amp",
    severity: Severity::Note,
    fix: Safety::Sometimes,
    wants: &[Want::Import, Want::Call("torch.cuda.amp.autocast"), Want::Call("torch.cuda.amp.GradScaler")],
    check,
    ..Rule::DEFAULT
};

const OLD: &[&str] = &["torch.cuda.amp.autocast", "torch.cuda.amp.GradScaler"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    if facts.project.allows_before("torch", 2, 3) {
        return;
    }
    match node {
        Node::Stmt(Stmt::ImportFrom(import)) => check_import(facts, import, sink),
        Node::Expr(Expr::Call(call)) if call.func.is_attribute_expr() => check_call(facts, call, sink),
        _ => {}
    }
}

fn check_call<'a>(facts: &Facts<'a>, call: &'a ExprCall, sink: &mut Sink<'_>) {
    let Some(name) = facts.callee(call).and_then(|name| name.strip_prefix("torch.cuda.amp.")) else { return };
    // Who also uses the new name chooses by version.
    if facts.mentions(&format!("torch.amp.{name}")) {
        return;
    }
    let new = facts.spelling("torch.amp").map(|module| format!("{module}.{name}"));
    let edits = new.and_then(|new| {
        let mut edits = add_device(facts, call, name)?;
        edits.push(Edit::replace(call.func.range(), new));
        Some(edits)
    });
    let message = format!("`torch.cuda.amp.{name}` is deprecated since torch 2.4: use `torch.amp.{name}(\"cuda\")`");
    sink.report(call, message).fix_if(exists(facts, name), "Use `torch.amp`", edits);
}

/// `from torch.cuda.amp import autocast`: one finding for the import and all its calls, which must change together.
fn check_import<'a>(facts: &Facts<'a>, import: &'a StmtImportFrom, sink: &mut Sink<'_>) {
    let Some(module) = import.module.as_ref().filter(|m| m.as_str() == "torch.cuda.amp" && import.level == 0) else {
        return;
    };
    let known = |name: &str| matches!(name, "autocast" | "GradScaler");
    if !import.names.iter().any(|alias| known(&alias.name)) || is_in_try(facts, import) {
        return;
    }
    let all_known = import.names.iter().all(|alias| known(&alias.name));
    let edits = all_known.then(|| edit_calls(facts)).flatten().map(|mut edits| {
        edits.push(Edit::replace(module.range(), "torch.amp"));
        edits
    });
    sink.report(
        import,
        "`torch.cuda.amp` is deprecated since torch 2.4: `torch.amp` has the same with the device as first argument",
    )
    .fix_if(import.names.iter().all(|alias| exists(facts, &alias.name)), "Import from `torch.amp`", edits);
}

/// `torch.amp.autocast` is as old as the other; `torch.amp.GradScaler` came with 2.3.
fn exists(facts: &Facts<'_>, name: &str) -> bool {
    name == "autocast" || facts.project.at_least("torch", 2, 3) == Some(true)
}

/// The edits of all calls by imported name; nothing when one cannot be changed, or the name is used without a call.
fn edit_calls<'a>(facts: &Facts<'a>) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    for expr in facts.tree().all().iter().filter_map(|n| n.expr()).filter(|e| e.is_name_expr()) {
        let Some(name) = facts.qualified(expr).filter(|name| OLD.contains(name)) else { continue };
        match facts.parent(expr) {
            Some(Node::Expr(Expr::Call(call))) if std::ptr::eq(&*call.func, expr) => {
                edits.extend(add_device(facts, call, name.rsplit('.').next()?)?);
            }
            // A class named in an annotation is the new one's subclass: it may stay.
            Some(_) if name.ends_with("GradScaler") => {}
            _ => return None,
        }
    }
    Some(edits)
}

fn add_device<'a>(facts: &Facts<'a>, call: &'a ExprCall, name: &str) -> Option<Vec<Edit>> {
    let arguments = &call.arguments;
    let Some(first) = arguments.iter_source_order().next() else {
        return Some(vec![facts.add_argument(call, "\"cuda\"")]);
    };
    let positional = arguments.args.len();
    let text = match (name, positional) {
        ("autocast", 1) => "\"cuda\", enabled=",
        ("autocast", 0) | ("GradScaler", _) => "\"cuda\", ",
        _ => return None,
    };
    let plain = !arguments.args.iter().any(Expr::is_starred_expr);
    plain.then(|| vec![Edit::insert(first.range().start(), text)])
}

/// `try: from torch.amp import …; except ImportError: from torch.cuda.amp import …`
fn is_in_try<'a>(facts: &Facts<'a>, import: &'a StmtImportFrom) -> bool {
    facts
        .ancestors(import)
        .any(|ancestor| matches!(ancestor, Node::Stmt(Stmt::Try(_) | Stmt::If(_)) | Node::Handler(_)))
}
