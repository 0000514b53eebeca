//! What is kept from batch to batch: values put into containers that were there before the loop.

use super::loops::{Loop, LoopKind};
use super::scope::Set;
use super::tree::Node;
use super::{EventKind, Facts, Grad, Kind};
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, HasNodeIndex, Stmt};

/// A value and the container that it is put into.
#[derive(Clone, Copy)]
pub struct Kept<'a> {
    pub value: &'a Expr,
    pub container: &'a Expr,
}

/// Methods that only containers have.
const APPENDS: &[&str] = &["append", "appendleft"];
/// Methods that other things have, too.
const ADDS: &[&str] = &["add", "extend", "insert"];
/// Methods that make a container smaller.
const EMPTIES: &[&str] = &["clear", "pop", "popleft", "popitem", "reset"];

impl<'a> Facts<'a> {
    /// What a call puts into a container: `outs.append(x)`.
    pub fn kept_by(&self, call: &'a ExprCall) -> Option<Kept<'a>> {
        let (container, name) = self.method(call)?;
        let kind = self.kind(container);
        let fits = match kind {
            Kind::Container => APPENDS.contains(&name) || ADDS.contains(&name),
            Kind::Unknown => APPENDS.contains(&name),
            _ => false,
        };
        let value = call.arguments.args.last().filter(|_| fits && call.arguments.keywords.is_empty())?;
        Some(Kept { value, container })
    }

    /// What a statement puts into a dict or list under a key that the loop over batches changes: `outs[step] = x`.
    pub fn kept_under_key(&self, stmt: &'a Stmt) -> Option<Kept<'a>> {
        let Stmt::Assign(assign) = stmt else { return None };
        let [Expr::Subscript(target)] = &assign.targets[..] else { return None };
        let names = self.inside(&*target.slice).filter_map(Node::expr).filter(|e| e.is_name_expr());
        let nodes: Vec<Node<'a>> = names.flat_map(|name| self.defs(name)).map(|def| self.def_node(def)).collect();
        let loops = self.loops_of(stmt);
        // Keys of a loop further in come again with the next batch.
        let own = |node: &Node<'a>| loops.iter().find(|l| self.contains(*l, node));
        let changes = nodes.iter().filter_map(own).any(|l| self.loop_kind(*l) == LoopKind::Data);
        let kept = Kept { value: &assign.value, container: &target.value };
        let keyed = !target.slice.is_slice_expr() && self.is(&target.value, Kind::Container);
        (keyed && changes).then_some(kept)
    }

    /// Whether a container collects over the turns of a loop over batches around this node, and nobody empties it.
    pub fn collects_over_batches(&self, container: &'a Expr, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        let root = root(container);
        let loops = self.loops_of(node);
        let outermost = loops.iter().rposition(|l| self.is_there_before(root, *l));
        let around: &[Loop<'a>] = outermost.map_or(&[], |at| &loops[..=at]);
        around.iter().any(|l| self.loop_kind(*l) == LoopKind::Data) && !self.is_emptied(root)
    }

    /// Made before the loop, and not made anew in its turns.
    fn is_there_before(&self, container: &'a Expr, around: Loop<'a>) -> bool {
        self.place_at(container).is_some()
            && !self.defs(container).iter().any(|def| self.contains(&around, &self.def_node(*def)))
    }

    /// Whether a container is emptied or bounded somewhere: `clear()`, `del x[:]`, `deque(maxlen=…)`, a list made anew.
    pub fn is_emptied(&self, container: &'a Expr) -> bool {
        let container = root(container);
        let Some(place) = self.place_at(container) else { return false };
        let uses: Vec<&'a Expr> = match self.self_attribute(place) {
            Some((class, name)) => {
                if self.attribute_defs(class, name).len() > 1 {
                    return true;
                }
                self.attribute_uses(class, name).into_iter().filter_map(|id| self.node(id).expr()).collect()
            }
            None => self.place_uses(place),
        };
        let bounded = self.constructor(container).is_some_and(|call| call.arguments.find_keyword("maxlen").is_some());
        bounded || uses.into_iter().any(|used| self.empties(used))
    }

    fn empties(&self, used: &'a Expr) -> bool {
        match self.parent(used) {
            Some(Node::Expr(Expr::Attribute(attribute))) => EMPTIES.contains(&attribute.attr.as_str()),
            Some(Node::Expr(parent @ Expr::Subscript(_))) => match self.parent(parent) {
                Some(Node::Stmt(Stmt::Delete(_))) => true,
                Some(Node::Stmt(Stmt::Assign(assign))) => {
                    assign.targets.iter().any(|t| std::ptr::eq(t, parent)) && makes_anew(parent, &assign.value)
                }
                _ => false,
            },
            Some(Node::Stmt(Stmt::Delete(_))) => true,
            _ => false,
        }
    }

    /// Whether what a container holds is needed for `backward`: then its graphs are not kept in vain.
    pub fn is_for_backward(&self, container: &'a Expr, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        let container = root(container);
        let fates = self.defs(container).into_iter().map(|def| self.fate(def)).collect::<Vec<_>>();
        fates.iter().any(|fate| fate.backward)
            || fates.iter().any(|fate| fate.passed || fate.returned) && self.goes_backward_outside(node)
    }

    /// `backward` is called in this function, but not in the innermost loop around the node.
    fn goes_backward_outside(&self, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        let Some(function) = self.function_of(node) else { return false };
        let inner = self.loop_of(node);
        self.events(function.stmt)
            .iter()
            .any(|e| e.kind == EventKind::Backward && !inner.is_some_and(|l| self.contains(&l, e.call)))
    }

    /// Whether `backward` runs in the loop around a node: then the activations are gone when the turn ends.
    pub fn is_freed_by_backward(&self, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        self.events_around(node).iter().any(|event| event.kind == EventKind::Backward)
    }

    /// A value that surely has a graph, or in a fragment without imports something called a loss.
    pub fn is_graph_or_named_loss(&self, expr: &'a Expr) -> bool {
        match self.grad(expr) {
            Grad::Graph => true,
            Grad::Free => false,
            Grad::Unknown => expr.is_name_expr() && self.defs(expr).is_empty() && self.is(expr, Kind::Loss),
        }
    }

    /// Whether a definition that reaches a use is this expression (or a part of it).
    pub fn comes_from(&self, used: &'a Expr, value: &Expr) -> bool {
        self.defs(used).iter().any(|def| match &self.def(*def).set {
            Set::Assign { value: set, .. } => std::ptr::eq(*set, value),
            _ => false,
        })
    }

    /// Whether the file has anything to do with a GPU.
    pub fn names_a_device(&self) -> bool {
        self.says(&["cuda", "device", "ccelerator"])
    }
}

/// `x[:] = …`, `history["loss"] = []`.
fn makes_anew(target: &Expr, value: &Expr) -> bool {
    let slice = matches!(target, Expr::Subscript(subscript) if subscript.slice.is_slice_expr());
    let fresh =
        matches!(value, Expr::List(_) | Expr::Dict(_) | Expr::Set(_) | Expr::NoneLiteral(_) | Expr::NumberLiteral(_));
    let made = matches!(value, Expr::Call(call) if call.func.is_name_expr() && call.arguments.is_empty());
    slice || fresh || made
}

/// `history["loss"]` → `history`.
fn root(container: &Expr) -> &Expr {
    match container {
        Expr::Subscript(subscript) => root(&subscript.value),
        _ => container,
    }
}
