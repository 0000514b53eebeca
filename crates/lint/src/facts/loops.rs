//! Loops: what they go over, what they are for, what they carry from turn to turn.

use super::scope::{DefId, Set};
use super::tree::Node;
use super::{Facts, Kind};
use crate::parse::ast::{StmtFor, StmtWhile};
use crate::parse::{Expr, HasNodeIndex, Stmt};

/// A `for` or `while` statement.
#[derive(Clone, Copy, Debug)]
pub enum Loop<'a> {
    For(&'a StmtFor),
    While(&'a StmtWhile),
}

/// What a loop is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// Over batches: of a loader, or it runs forward and backward itself.
    Data,
    /// Over epochs, folds, trials: it contains a data loop.
    Epoch,
    Other,
}

/// What a `for` goes over, with `enumerate`, `tqdm` and the like taken off.
#[derive(Clone, Copy, Debug)]
pub struct Turns<'a> {
    /// The innermost iterable: `loader` in `enumerate(tqdm(loader), 1)`.
    pub over: &'a Expr,
    /// Where counting starts when `enumerate` is used, if it is a literal: 0 without a second argument.
    pub counted: Option<Option<u64>>,
}

impl<'a> Loop<'a> {
    pub fn of(node: Node<'a>) -> Option<Loop<'a>> {
        match node {
            Node::Stmt(Stmt::For(stmt)) => Some(Loop::For(stmt)),
            Node::Stmt(Stmt::While(stmt)) => Some(Loop::While(stmt)),
            _ => None,
        }
    }

    pub fn body(self) -> &'a [Stmt] {
        match self {
            Loop::For(stmt) => &stmt.body,
            Loop::While(stmt) => &stmt.body,
        }
    }
}

impl HasNodeIndex for Loop<'_> {
    fn node_index(&self) -> &crate::parse::ast::AtomicNodeIndex {
        match self {
            Loop::For(stmt) => &stmt.node_index,
            Loop::While(stmt) => &stmt.node_index,
        }
    }
}

/// Wrappers that yield what they are given.
const WRAPPERS: &[&str] = &[
    "tqdm",
    "trange",
    "track",
    "islice",
    "iter",
    "list",
    "reversed",
    "cycle",
    "progress_bar",
    "log_every",
    "skip_first_batches",
];

impl<'a> Facts<'a> {
    /// What a `for` really goes over.
    pub fn turns(&self, iter: &'a Expr) -> Turns<'a> {
        let mut turns = Turns { over: iter, counted: None };
        while let Expr::Call(call) = turns.over {
            let (Some(name), Some(first)) = (self.called_name(call), call.arguments.args.first()) else { break };
            if name == "enumerate" && turns.counted.is_none() {
                let start = call.arguments.find_argument_value("start", 1);
                turns.counted = Some(start.map_or(Some(0), literal_number));
            } else if !WRAPPERS.contains(&name) {
                break;
            }
            // `metric_logger.log_every(loader, …)` and `tqdm(iterable=loader)` both give the loader first.
            turns.over = first;
        }
        turns
    }

    /// The innermost loop around a node, in the same function.
    pub fn loop_of(&self, node: &(impl HasNodeIndex + ?Sized)) -> Option<Loop<'a>> {
        let id = self.id(node);
        self.ancestors_here(node).filter_map(Loop::of).find(|l| self.runs_each_turn(*l, id))
    }

    /// All loops around a node in the same function, from the inside out.
    pub fn loops_of(&self, node: &(impl HasNodeIndex + ?Sized)) -> Vec<Loop<'a>> {
        let id = self.id(node);
        self.ancestors_here(node).filter_map(Loop::of).filter(|l| self.runs_each_turn(*l, id)).collect()
    }

    /// What a loop goes over, and its `else`, are not its body.
    fn runs_each_turn(&self, around: Loop<'a>, id: super::NodeId) -> bool {
        match around {
            Loop::While(stmt) if self.tree.contains(self.id(&*stmt.test), id) => true,
            _ => around.body().iter().any(|stmt| self.tree.contains(self.id(stmt), id)),
        }
    }

    /// What a loop is for.
    pub fn loop_kind(&self, of: Loop<'a>) -> LoopKind {
        let id = self.id(&of);
        if let Some(known) = self.memo.loops.borrow().get(&id) {
            return *known;
        }
        let kind = self.work_out_loop(of);
        self.memo.loops.borrow_mut().insert(id, kind);
        kind
    }

    fn work_out_loop(&self, of: Loop<'a>) -> LoopKind {
        if let Loop::For(stmt) = of
            && self.goes_over_data(stmt)
        {
            return LoopKind::Data;
        }
        let has_data_loop = self.inside_here(&of).skip(1).filter_map(Loop::of).any(|inner| match inner {
            Loop::For(stmt) => self.goes_over_data(stmt),
            Loop::While(_) => false,
        });
        match has_data_loop {
            true => LoopKind::Epoch,
            false if self.trains_itself(of) => LoopKind::Data,
            false => LoopKind::Other,
        }
    }

    fn goes_over_data(&self, stmt: &'a StmtFor) -> bool {
        let over = self.turns(&stmt.iter).over;
        match over {
            Expr::Call(call) if self.called_name(call) == Some("zip") => {
                call.arguments.args.iter().any(|a| self.kind(self.turns(a).over) == Kind::Loader)
            }
            _ => self.kind(over) == Kind::Loader,
        }
    }

    /// A loop that calls `backward` directly, not in an inner loop.
    fn trains_itself(&self, of: Loop<'a>) -> bool {
        let id = self.id(&of);
        self.inside_here(&of).any(|node| {
            node.call().is_some_and(|call| {
                self.called_name(call) == Some("backward") && self.loop_of(call).is_some_and(|l| self.id(&l) == id)
            })
        })
    }

    /// Whether a use may see a value from an earlier turn of this loop.
    pub fn is_carried(&self, used: &Expr, around: Loop<'a>) -> bool {
        let mut open: Vec<DefId> = self.def_at(used).into_iter().collect();
        let mut seen = Vec::new();
        while let Some(def) = open.pop() {
            if seen.contains(&def) || seen.len() > 64 {
                continue;
            }
            seen.push(def);
            match &self.def(def).set {
                Set::LoopHead { loop_node, around: later, before } => {
                    if *loop_node == self.id(&around) && !later.is_empty() {
                        return true;
                    }
                    open.push(*before);
                }
                Set::Join(operands) => open.extend(operands.iter().copied()),
                _ => {}
            }
        }
        false
    }

    /// Whether what a statement sets (`total += …`, `stats["loss"] = …`) already had a value before this loop began: by a
    /// definition further up, or from outside the function.
    pub fn begun_before(&self, target: &'a Expr, around: Loop<'a>) -> bool {
        if let Expr::Subscript(subscript) = target {
            return self.set_before(&subscript.value, &around);
        }
        let Some(before) = self.value_before(target) else { return false };
        let (defs, unset) = self.real_defs_or_unset(before);
        unset || defs.iter().any(|def| !self.tree.contains(self.id(&around), self.def(*def).node))
    }

    /// The definition in force just before a statement that sets `x` from what it was: `x += e`, `x = x + e`.
    fn value_before(&self, target: &'a Expr) -> Option<DefId> {
        let def = self.defined_by(target)?;
        match &self.def(def).set {
            Set::Augmented { before, .. } => Some(*before),
            Set::Assign { value, .. } => {
                let place = self.place_at(target)?;
                let read = self.inside(*value).filter_map(Node::expr).find(|e| self.place_at(e) == Some(place))?;
                Some(self.node_def[self.id(read).index()])
            }
            _ => None,
        }
    }
}

/// The value of a whole-number literal.
pub fn literal_number(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::NumberLiteral(number) => number.value.as_int().and_then(|i| i.as_u64()),
        _ => None,
    }
}
