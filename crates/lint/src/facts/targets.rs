//! What a block sets: needed before its statements are walked, because a loop's head stands for every name that the loop
//! will set.

use crate::parse::ast::{self, ExceptHandler};
use crate::parse::{Expr, Stmt};

/// Collects assignment targets, and names bound otherwise, from statements and their inner blocks.
pub(super) fn collect<'a>(body: &'a [Stmt], targets: &mut Vec<&'a Expr>, names: &mut Vec<&'a str>, depth: usize) {
    if depth > super::build::DEEPEST {
        return;
    }
    for stmt in body {
        match stmt {
            Stmt::Assign(s) => targets.extend(&s.targets),
            Stmt::AugAssign(s) => targets.push(&s.target),
            Stmt::AnnAssign(s) => targets.push(&s.target),
            Stmt::Delete(s) => targets.extend(&s.targets),
            Stmt::For(s) => targets.push(&s.target),
            Stmt::With(s) => targets.extend(s.items.iter().filter_map(|i| i.optional_vars.as_deref())),
            Stmt::FunctionDef(s) => names.push(s.name.as_str()),
            Stmt::ClassDef(s) => names.push(s.name.as_str()),
            Stmt::Expr(s) => targets.extend(walrus(&s.value)),
            Stmt::If(s) => targets.extend(walrus(&s.test)),
            Stmt::While(s) => targets.extend(walrus(&s.test)),
            Stmt::Try(s) => names.extend(handlers(s).filter_map(|h| h.name.as_ref()).map(|n| n.as_str())),
            _ => {}
        }
        for block in blocks(stmt) {
            collect(block, targets, names, depth + 1);
        }
    }
}

/// The blocks of a statement that run where it stands.
pub(crate) fn blocks(stmt: &Stmt) -> Vec<&[Stmt]> {
    match stmt {
        Stmt::For(s) => vec![&s.body, &s.orelse],
        Stmt::While(s) => vec![&s.body, &s.orelse],
        Stmt::With(s) => vec![&s.body],
        Stmt::If(s) => std::iter::once(&s.body[..]).chain(s.elif_else_clauses.iter().map(|c| &c.body[..])).collect(),
        Stmt::Match(s) => s.cases.iter().map(|c| &c.body[..]).collect(),
        Stmt::Try(s) => {
            let mut blocks: Vec<&[Stmt]> = vec![&s.body];
            blocks.extend(handlers(s).map(|h| &h.body[..]));
            blocks.extend([&s.orelse[..], &s.finalbody[..]]);
            blocks
        }
        _ => Vec::new(),
    }
}

fn handlers(stmt: &ast::StmtTry) -> impl Iterator<Item = &ast::ExceptHandlerExceptHandler> {
    stmt.handlers.iter().map(|ExceptHandler::ExceptHandler(handler)| handler)
}

/// `while x := next(it)`, `if (n := f()) > 3`.
fn walrus(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Named(named) => Some(&named.target),
        Expr::Compare(compare) => walrus(&compare.left),
        _ => None,
    }
}
