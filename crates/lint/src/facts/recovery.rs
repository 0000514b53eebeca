//! Recovering from errors: which `except` clauses mean "out of memory", and what the tried block runs.

use super::events::{EventKind, Guard};
use super::loops::{Loop, LoopKind};
use super::tree::Node;
use super::{Facts, Kind};
use crate::parse::ast::{ExceptHandlerExceptHandler, ExprCall, StmtTry};
use crate::parse::{Expr, Stmt};

/// What people call a function that runs a model.
const RUNS: &[&str] = &[
    "train",
    "step",
    "forward",
    "run_model",
    "training_step",
    "train_step",
    "generate",
    "fit",
    "run_batch",
    "train_batch",
];

impl<'a> Facts<'a> {
    /// Whether a clause is there for a GPU that ran out of memory: by its class, or because it looks at the message.
    pub fn catches_oom(&self, handler: &'a ExceptHandlerExceptHandler) -> bool {
        let Some(kind) = handler.type_.as_deref() else { return false };
        let classes: Vec<&Expr> = match kind {
            Expr::Tuple(tuple) => tuple.elts.iter().collect(),
            one => vec![one],
        };
        if classes.iter().any(|class| self.text(*class).ends_with("OutOfMemoryError")) {
            return true;
        }
        let broad = |class: &Expr| matches!(self.text(class), "RuntimeError" | "Exception" | "torch.cuda.CudaError");
        classes.iter().any(|class| broad(class)) && handler.body.iter().any(|stmt| self.asks_for_oom(stmt))
    }

    fn asks_for_oom(&self, stmt: &'a Stmt) -> bool {
        self.inside(stmt).filter_map(Node::expr).any(|expr| match expr {
            Expr::StringLiteral(text) => text.value.to_str().to_ascii_lowercase().contains("out of memory"),
            Expr::Call(call) => {
                self.called_name(call).is_some_and(|name| name.contains("oom") || name.contains("out_of_memory"))
            }
            _ => false,
        })
    }

    /// The `try` that a clause belongs to.
    pub fn try_of(&self, handler: &'a ExceptHandlerExceptHandler) -> Option<&'a StmtTry> {
        match self.parent(handler)? {
            Node::Stmt(Stmt::Try(stmt)) => Some(stmt),
            _ => None,
        }
    }

    /// Whether statements run a model or a training step, as far as this file tells.
    pub fn runs_model(&self, body: &'a [Stmt]) -> bool {
        body.iter().flat_map(|stmt| self.inside_here(stmt)).filter_map(Node::call).any(|call| self.is_model_run(call))
    }

    fn is_model_run(&self, call: &'a ExprCall) -> bool {
        if self.callee(call).is_some() {
            return false;
        }
        let runs = |kind: EventKind| matches!(kind, EventKind::Backward | EventKind::Step | EventKind::ScalerStep);
        self.kind(&call.func) == Kind::Module
            || self.event_of(call).is_some_and(|(kind, ..)| runs(kind))
            || self.called_name(call).is_some_and(|name| RUNS.contains(&name))
            || self
                .callee_function(call)
                .is_some_and(|f| self.events(self.function(f).stmt).iter().any(|e| runs(e.kind)))
    }

    /// Whether a clean-up (`empty_cache`, `gc.collect`) runs on every batch of a training loop: not in a clause for errors, not
    /// under a condition, not after a model was dropped.
    pub fn cleans_up_every_batch(&self, call: &'a ExprCall) -> bool {
        let Some(around) = self.loop_of(call) else { return false };
        let Loop::For(_) = around else { return false };
        if self.loop_kind(around) != LoopKind::Data || self.grad_disabled(call) || self.in_test(call) {
            return false;
        }
        let always = self.guards(call, &around).iter().all(|guard| match guard {
            Guard::If { test: Some(test), .. } => self.asks_for_device(test),
            _ => false,
        });
        always && !self.follows_dropped_model(call) && !around.body().iter().any(|s| matches!(s, Stmt::Break(_)))
    }

    /// `if torch.cuda.is_available():` holds on every turn or never.
    fn asks_for_device(&self, test: &'a Expr) -> bool {
        let text = self.text(test);
        !test.is_bool_op_expr()
            && ["cuda", "device", "xpu", "mps", "npu"].iter().any(|name| text.contains(name))
            && self.modulus(test).is_none()
    }

    fn follows_dropped_model(&self, call: &'a ExprCall) -> bool {
        let stmt = self.statement(call);
        self.preceding(stmt).iter().any(|before| match before {
            Stmt::Delete(delete) => {
                delete.targets.iter().any(|t| matches!(self.kind(t), Kind::Module | Kind::Pipeline | Kind::Trainer))
            }
            _ => false,
        })
    }
}
