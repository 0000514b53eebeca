//! A training step as a list of events: backward, clip, step, zero_grad and their like, in order, each with its receiver
//! and the conditions that it stands under.

use std::rc::Rc;

use super::loops::Loop;
use super::tree::Node;
use super::{Facts, FunctionId, Kind};
use crate::parse::ast::{ExprCall, Operator, StmtIf};
use crate::parse::{Expr, HasNodeIndex, Stmt};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A module is called outside `no_grad`.
    Forward,
    /// `loss.backward()`, `accelerator.backward(loss)`, `scaler.scale(loss).backward()`.
    Backward,
    /// `optimizer.step()`.
    Step,
    /// `scaler.step(optimizer)`.
    ScalerStep,
    /// `scaler.update()`.
    ScalerUpdate,
    /// `scaler.unscale_(optimizer)`.
    Unscale,
    /// `optimizer.zero_grad()` or `model.zero_grad()`.
    ZeroGrad,
    /// `clip_grad_norm_`, `clip_grad_value_`.
    Clip,
    /// `scheduler.step()`.
    SchedulerStep,
}

/// One event of a training step.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    pub kind: EventKind,
    /// Where it happens; for events inside a function of this file, the call of that function.
    pub call: &'a ExprCall,
    /// Who it happens to: the optimizer, the loss, the scaler for an update, the model or optimizer for zero_grad.
    pub target: Option<&'a Expr>,
    /// Through whom: the scaler, accelerator or engine that does it.
    pub by: Option<&'a Expr>,
    /// The conditions between the block and the event, from the inside out.
    pub guards: Vec<Guard<'a>>,
    /// The function of this file that does it, when it is not done here.
    pub within: Option<FunctionId>,
}

/// A condition: a branch of an `if`, an `except` clause, an inner loop.
#[derive(Clone, Copy, Debug)]
pub enum Guard<'a> {
    /// In the branch of this test; `None` is the `else`.
    If {
        stmt: &'a StmtIf,
        test: Option<&'a Expr>,
    },
    Handler,
    InnerLoop(Loop<'a>),
    /// `match`, the `else` of a loop, `x and f()`.
    Other,
}

impl Event<'_> {
    /// Happens on every turn.
    pub fn is_unconditional(&self) -> bool {
        self.guards.is_empty()
    }

    pub fn happens_here(&self) -> bool {
        self.within.is_none()
    }
}

impl<'a> Facts<'a> {
    /// The events of a loop's turn or of a function's body, in order. Functions of this file are looked into, two deep.
    pub fn events(&self, block: &(impl HasNodeIndex + ?Sized)) -> Rc<[Event<'a>]> {
        let id = self.id(block);
        if let Some(known) = self.memo.events.borrow().get(&id) {
            return Rc::clone(known);
        }
        let mut found = Vec::new();
        self.collect_events(block, 2, &mut found);
        let found: Rc<[Event<'a>]> = found.into();
        self.memo.events.borrow_mut().insert(id, Rc::clone(&found));
        found
    }

    fn collect_events(&self, block: &(impl HasNodeIndex + ?Sized), depth: u8, found: &mut Vec<Event<'a>>) {
        let block_id = self.id(block);
        let function = match self.node(block_id) {
            Node::Stmt(Stmt::FunctionDef(def)) => self.function_defined_by(def),
            node => self.function_id(&node),
        };
        for node in self.tree.inside(block_id) {
            let Some(call) = node.call() else { continue };
            if self.function_id(call) != function {
                continue;
            }
            if let Some((kind, target, by)) = self.event_of(call) {
                let guards = self.guards(call, block);
                found.push(Event { kind, call, target, by, guards, within: None });
            } else if depth > 0
                && let Some(called) = self.callee_function(call)
                && Some(called) != function
            {
                self.events_of_callee(call, called, block, depth, found);
            }
        }
    }

    fn events_of_callee(
        &self,
        call: &'a ExprCall,
        called: FunctionId,
        block: &(impl HasNodeIndex + ?Sized),
        depth: u8,
        found: &mut Vec<Event<'a>>,
    ) {
        let mut inner = Vec::new();
        self.collect_events(self.function(called).stmt, depth - 1, &mut inner);
        let outside = self.guards(call, block);
        for mut event in inner {
            event.guards.extend(outside.iter().copied());
            event.call = call;
            event.within = Some(called);
            found.push(event);
        }
    }

    /// The training event that a call is, with whom it happens to and through whom.
    pub fn event_of(&self, call: &'a ExprCall) -> Option<(EventKind, Option<&'a Expr>, Option<&'a Expr>)> {
        let first = call.arguments.args.first();
        if let Some(name) = self.callee(call) {
            return name.contains("clip_grad_").then_some((EventKind::Clip, first, None));
        }
        let Expr::Attribute(attribute) = &*call.func else { return None };
        let owner = &*attribute.value;
        match attribute.attr.as_str() {
            "backward" => Some(self.backward(owner, first)),
            "manual_backward" => Some((EventKind::Backward, first, Some(owner))),
            "step" => self.step(owner, first),
            "zero_grad" => Some((EventKind::ZeroGrad, Some(owner), None)),
            "unscale_" => Some((EventKind::Unscale, first, Some(owner))),
            "update" if self.is(owner, Kind::Scaler) => Some((EventKind::ScalerUpdate, Some(owner), None)),
            "clip_grad_norm_" | "clip_grad_value_" | "clip_grad_norm" => Some((EventKind::Clip, first, Some(owner))),
            "clip_gradients" => Some((EventKind::Clip, first, Some(owner))),
            _ => None,
        }
    }

    fn backward(&self, owner: &'a Expr, first: Option<&'a Expr>) -> (EventKind, Option<&'a Expr>, Option<&'a Expr>) {
        // `scaler.scale(loss).backward()`
        if let Some(scaler) = self.receiver(owner, "scale")
            && let Expr::Call(scaled) = owner
        {
            return (EventKind::Backward, scaled.arguments.args.first(), Some(scaler));
        }
        match self.kind(owner) {
            Kind::Accelerator | Kind::Fabric | Kind::Engine => (EventKind::Backward, first, Some(owner)),
            // `anything.backward(loss)` with a tensor named: some wrapper that does it.
            kind if !kind.is_tensor() && first.is_some_and(|f| self.is(f, Kind::Loss)) => {
                (EventKind::Backward, first, Some(owner))
            }
            _ => (EventKind::Backward, Some(owner), None),
        }
    }

    fn step(
        &self,
        owner: &'a Expr,
        first: Option<&'a Expr>,
    ) -> Option<(EventKind, Option<&'a Expr>, Option<&'a Expr>)> {
        match self.kind(owner) {
            Kind::Scheduler => Some((EventKind::SchedulerStep, Some(owner), None)),
            Kind::Scaler => Some((EventKind::ScalerStep, first, Some(owner))),
            Kind::Optimizer => Some((EventKind::Step, Some(owner), None)),
            Kind::Engine => Some((EventKind::Step, Some(owner), Some(owner))),
            Kind::Unknown if first.is_some_and(|f| self.is(f, Kind::Optimizer)) => {
                Some((EventKind::ScalerStep, first, Some(owner)))
            }
            _ => None,
        }
    }

    /// The conditions between a block and a node inside it, from the inside out.
    pub fn guards(&self, node: &(impl HasNodeIndex + ?Sized), block: &(impl HasNodeIndex + ?Sized)) -> Vec<Guard<'a>> {
        let (id, stop) = (self.id(node), self.id(block));
        let mut guards = Vec::new();
        for ancestor in self.ancestors(node) {
            if self.id(&ancestor) == stop {
                break;
            }
            if let Some(guard) = self.guard(ancestor, id) {
                guards.push(guard);
            }
        }
        guards
    }

    fn guard(&self, ancestor: Node<'a>, id: super::NodeId) -> Option<Guard<'a>> {
        let holds = |body: &[Stmt]| body.iter().any(|stmt| self.tree.contains(self.id(stmt), id));
        match ancestor {
            Node::Stmt(Stmt::If(stmt)) => {
                if holds(&stmt.body) {
                    return Some(Guard::If { stmt, test: Some(&stmt.test) });
                }
                let clause = stmt.elif_else_clauses.iter().find(|c| holds(&c.body))?;
                Some(Guard::If { stmt, test: clause.test.as_ref() })
            }
            Node::Handler(_) => Some(Guard::Handler),
            Node::Stmt(Stmt::For(_) | Stmt::While(_)) => {
                let inner = Loop::of(ancestor)?;
                Some(if holds(inner.body()) { Guard::InnerLoop(inner) } else { Guard::Other })
            }
            Node::Stmt(Stmt::Match(_)) | Node::Expr(Expr::BoolOp(_) | Expr::If(_)) => Some(Guard::Other),
            _ => None,
        }
    }

    /// The events of the innermost loop around a node, or of its function, or of the file's own statements.
    pub fn events_around(&self, node: &(impl HasNodeIndex + ?Sized)) -> Rc<[Event<'a>]> {
        if let Some(around) = self.loop_of(node) {
            return self.events(&around);
        }
        match self.function_of(node) {
            Some(function) => self.events(function.stmt),
            None => Rc::clone(self.memo.file_events.get_or_init(|| {
                let own = self.parsed.body().iter().filter(|s| !s.is_function_def_stmt() && !s.is_class_def_stmt());
                own.flat_map(|stmt| self.events(stmt).to_vec()).collect()
            })),
        }
    }

    /// Whether two nodes stand in different branches of one `if`, so that only one of them runs.
    pub fn are_exclusive(&self, a: &(impl HasNodeIndex + ?Sized), b: &(impl HasNodeIndex + ?Sized)) -> bool {
        let (a_id, b_id) = (self.id(a), self.id(b));
        self.ancestors_here(a).any(|ancestor| {
            let Node::Stmt(Stmt::If(_)) = ancestor else { return false };
            match (self.guard(ancestor, a_id), self.guard(ancestor, b_id)) {
                (Some(Guard::If { test: x, .. }), Some(Guard::If { test: y, .. })) => match (x, y) {
                    (Some(x), Some(y)) => !std::ptr::eq(x, y),
                    (x, y) => x.is_some() != y.is_some(),
                },
                _ => false,
            }
        })
    }

    /// Whether a node stands in a `with` whose context is a call of this name: `with accelerator.accumulate(model):`.
    pub fn inside_context(&self, node: &(impl HasNodeIndex + ?Sized), name: &str) -> bool {
        self.ancestors_here(node).any(|ancestor| match ancestor {
            Node::Stmt(Stmt::With(with)) => with
                .items
                .iter()
                .any(|item| item.context_expr.as_call_expr().is_some_and(|call| self.called_name(call) == Some(name))),
            _ => false,
        })
    }

    /// The divisor of the `%` in a test like `(i + 1) % accum == 0`, and what is divided.
    pub fn modulus(&self, test: &'a Expr) -> Option<(&'a Expr, &'a Expr)> {
        self.inside(test).find_map(|node| match node {
            Node::Expr(Expr::BinOp(op)) if op.op == Operator::Mod && !op.left.is_string_literal_expr() => {
                Some((&*op.left, &*op.right))
            }
            _ => None,
        })
    }

    /// Whether a test looks like "enough micro-batches": a `%`, or `accelerator.sync_gradients`.
    pub fn is_accumulation_test(&self, test: &'a Expr) -> bool {
        let says_so = |name: &str| name == "sync_gradients" || name.contains("accum");
        self.modulus(test).is_some()
            || self.inside(test).any(|node| match node {
                Node::Expr(Expr::Attribute(attribute)) => says_so(attribute.attr.as_str()),
                Node::Expr(Expr::Name(name)) => says_so(name.id.as_str()),
                _ => false,
            })
    }
}
