//! Where a value was made: the constructor call behind a name, through `.to(device)`, wrappers and same-file functions.

use std::cell::Cell;

use super::scope::Set;
use super::{Facts, library};
use crate::parse::Expr;
use crate::parse::ast::ExprCall;

/// Questions that lead to more than this many further ones are not followed to the end.
const DEEPEST: u32 = 120;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Counts how deep one question has led to others, so that a chain of ten thousand assignments does not overflow the stack.
pub(super) struct Descent;

impl Drop for Descent {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

impl<'a> Facts<'a> {
    pub(super) fn descend(&self) -> Option<Descent> {
        DEPTH.with(|depth| {
            (depth.get() < DEEPEST).then(|| {
                depth.set(depth.get() + 1);
                Descent
            })
        })
    }

    /// The expressions that made a value: `model` → `Net().cuda()`; one for each definition that reaches.
    pub fn origins(&self, expr: &'a Expr) -> Vec<&'a Expr> {
        let mut found = Vec::new();
        let mut open = vec![expr];
        let mut seen = Vec::new();
        while let Some(next) = open.pop() {
            let id = self.id(next);
            if seen.contains(&id) || seen.len() > 32 {
                continue;
            }
            seen.push(id);
            let defs = self.defs(next);
            if defs.is_empty() {
                found.push(next);
            }
            for def in defs {
                match &self.def(def).set {
                    Set::Assign { value, path } => match self.made_by(value, path.first()) {
                        Some(named @ (Expr::Name(_) | Expr::Attribute(_))) => open.push(named),
                        Some(made) if !found.iter().any(|f| self.id(*f) == self.id(made)) => found.push(made),
                        _ => {}
                    },
                    Set::Param { function, index, .. } => {
                        let sites = self.call_sites(*function);
                        open.extend(sites.iter().take(8).filter_map(|c| self.argument_for(c, *function, *index)));
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// What an assignment takes from its value: all of it, or one part.
    fn made_by(&self, value: &'a Expr, index: Option<usize>) -> Option<&'a Expr> {
        match (value, index) {
            (Expr::Tuple(tuple), Some(at)) => tuple.elts.get(at),
            // `model, optimizer = accelerator.prepare(model, optimizer)`
            (Expr::Call(call), Some(at)) if matches!(self.called_name(call), Some("prepare" | "setup")) => {
                call.arguments.args.get(at)
            }
            _ => Some(value),
        }
    }

    /// The one expression that made a value; nothing when there are several or it is not known.
    pub fn origin(&self, expr: &'a Expr) -> Option<&'a Expr> {
        match self.origins(expr)[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The call that constructed a value, with `.to(…)`, `.eval()`, wrappers and the like taken off:
    /// `DDP(Net().cuda())` → `Net()`.
    pub fn constructor(&self, expr: &'a Expr) -> Option<&'a ExprCall> {
        let mut current = if expr.is_call_expr() { expr } else { self.origin(expr)? };
        for _ in 0..16 {
            let call = current.as_call_expr()?;
            current = match (self.callee(call), self.method(call)) {
                (Some(name), _) if library::passes_through(name) => call.arguments.args.first()?,
                (None, Some((owner, name))) if library::KEEPS_MODULE.contains(&name) => owner,
                (None, Some((_, "prepare" | "setup"))) => call.arguments.args.first()?,
                _ => return Some(call),
            };
            if !current.is_call_expr() {
                current = self.origin(current)?;
            }
        }
        None
    }

    /// The calls that constructed a value, one for each definition that reaches.
    pub fn constructors(&self, expr: &'a Expr) -> Vec<&'a ExprCall> {
        self.origins(expr).into_iter().filter_map(|origin| self.constructor(origin)).collect()
    }
}
