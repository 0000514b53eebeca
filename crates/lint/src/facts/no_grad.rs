//! Where gradients are switched off: by a context, a decorator, a switch, or because every caller has them off.

use super::Facts;
use super::scope::FunctionId;
use super::tree::{Node, NodeId};
use crate::parse::ast::{ExprCall, StmtFunctionDef, StmtWith};
use crate::parse::{Expr, HasNodeIndex, Stmt};

/// `torch.set_grad_enabled(…)` as a statement: in force from there on.
pub(super) struct Switch {
    node: NodeId,
    off: bool,
    function: Option<FunctionId>,
}

const OFF: &[&str] =
    &["torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode"];
const ON: &[&str] = &["torch.enable_grad", "torch.autograd.enable_grad"];
const SET: &[&str] = &["torch.set_grad_enabled", "torch.autograd.set_grad_enabled"];

impl<'a> Facts<'a> {
    /// Whether gradients are off where this node runs: by a `with`, a decorator, a switch, or because every caller in this
    /// file has them off.
    pub fn grad_disabled(&self, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        let id = self.id(node);
        for ancestor in self.ancestors_here(node) {
            if let Node::Stmt(Stmt::With(with)) = ancestor
                && self.in_with_body(with, id)
                && let Some(off) = self.with_switches(with)
            {
                return off;
            }
        }
        self.switched_off_before(id) || self.function_id(node).is_some_and(|f| self.function_without_grad(f))
    }

    fn in_with_body(&self, with: &'a StmtWith, id: NodeId) -> bool {
        with.body.iter().any(|stmt| self.tree.contains(self.id(stmt), id))
    }

    /// Whether a `with` switches gradients off or on; nothing when it does neither.
    pub fn with_switches(&self, with: &'a StmtWith) -> Option<bool> {
        with.items.iter().rev().find_map(|item| self.context_switches(&item.context_expr))
    }

    /// What entering a context does to gradients: off, on, or nothing.
    pub fn context_switches(&self, context: &'a Expr) -> Option<bool> {
        match self.resolve(context) {
            Expr::Call(call) => match self.callee(call) {
                Some(name) if OFF.contains(&name) => Some(!first_is(call, false)),
                Some(name) if ON.contains(&name) => Some(false),
                Some(name) if SET.contains(&name) => Some(!first_is(call, true)),
                _ => None,
            },
            // `no_grad() if cond else nullcontext()`: somebody thought of it.
            Expr::If(branch) => self.context_switches(&branch.body).or_else(|| self.context_switches(&branch.orelse)),
            other => self.qualified(other).filter(|name| OFF.contains(name)).map(|_| true),
        }
    }

    /// Whether a `def` is decorated with `no_grad`, `inference_mode`, or something that says so in its name.
    pub fn decorated_without_grad(&self, def: &'a StmtFunctionDef) -> bool {
        def.decorator_list.iter().any(|decorator| {
            let target = decorator.expression.as_call_expr().map_or(&decorator.expression, |call| &call.func);
            let text = self.text(target);
            text.ends_with("no_grad") || text.ends_with("inference_mode")
        })
    }

    /// Whether the whole function runs without gradients.
    pub fn function_without_grad(&self, id: FunctionId) -> bool {
        if let Some(known) = self.memo.no_grad_functions.borrow().get(&id) {
            return *known;
        }
        // Recursion counts as "no": a function that only calls itself is called by nobody else.
        self.memo.no_grad_functions.borrow_mut().insert(id, false);
        let off = self.work_out_function(id);
        self.memo.no_grad_functions.borrow_mut().insert(id, off);
        off
    }

    fn work_out_function(&self, id: FunctionId) -> bool {
        let Some(_guard) = self.descend() else { return false };
        let function = self.function(id);
        if self.decorated_without_grad(function.stmt) || self.lightning_evaluates(id) {
            return true;
        }
        let sites = self.call_sites(id);
        !sites.is_empty() && sites.iter().all(|call| self.grad_disabled(*call))
    }

    /// Lightning switches gradients off around its evaluation hooks.
    fn lightning_evaluates(&self, id: FunctionId) -> bool {
        let function = self.function(id);
        let name = function.stmt.name.as_str();
        let hook = ["validation", "test", "predict"].iter().any(|part| name.contains(part));
        hook && (name.ends_with("_step") || name.starts_with("on_"))
            && function.class.is_some_and(|c| self.is_lightning(c))
    }

    fn switched_off_before(&self, id: NodeId) -> bool {
        let switches = self.memo.switches.get_or_init(|| self.find_switches());
        if switches.is_empty() {
            return false;
        }
        let function = self.function_id(&self.node(id));
        let here = switches.iter().rfind(|s| s.function == function && s.node < id);
        let outside = switches.iter().rfind(|s| s.function.is_none());
        here.or(outside.filter(|_| function.is_some())).is_some_and(|s| s.off)
    }

    fn find_switches(&self) -> Vec<Switch> {
        let mut switches = Vec::new();
        for node in self.tree.all() {
            if let Node::Stmt(Stmt::Expr(stmt)) = node
                && let Expr::Call(call) = &*stmt.value
                && self.calls_any(call, SET)
            {
                let off = !first_is(call, true);
                switches.push(Switch { node: self.id(call), off, function: self.function_id(call) });
            }
        }
        switches
    }
}

/// Whether the first argument is this literal.
pub(super) fn first_is(call: &ExprCall, value: bool) -> bool {
    let first = call.arguments.args.first().or_else(|| call.arguments.keywords.first().map(|k| &k.value));
    matches!(first, Some(Expr::BooleanLiteral(literal)) if literal.value == value)
}
