//! Every statement and expression of a file in one flat list, in the order in which Python runs them.
//!
//! A node's id is smaller than those of everything inside it, and what is inside it is one run of ids, so that "is this
//! inside that" is two comparisons. In `x = f(y)` the value comes before the target, because it is evaluated first.

use crate::parse::ast::{ExceptHandlerExceptHandler, NodeIndex};
use crate::parse::{Expr, HasNodeIndex, Ranged, Stmt, TextRange};

/// A statement, an expression or an `except` clause.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    Stmt(&'a Stmt),
    Expr(&'a Expr),
    Handler(&'a ExceptHandlerExceptHandler),
}

/// The place of a node in the order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u32);

#[derive(Default)]
pub struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    parents: Vec<Option<NodeId>>,
    last: Vec<NodeId>,
}

impl Ranged for Node<'_> {
    fn range(&self) -> TextRange {
        match self {
            Node::Stmt(stmt) => stmt.range(),
            Node::Expr(expr) => expr.range(),
            Node::Handler(handler) => handler.range(),
        }
    }
}

impl HasNodeIndex for Node<'_> {
    fn node_index(&self) -> &crate::parse::ast::AtomicNodeIndex {
        match self {
            Node::Stmt(stmt) => stmt.node_index(),
            Node::Expr(expr) => expr.node_index(),
            Node::Handler(handler) => &handler.node_index,
        }
    }
}

impl<'a> Node<'a> {
    pub fn expr(self) -> Option<&'a Expr> {
        if let Node::Expr(expr) = self { Some(expr) } else { None }
    }

    pub fn stmt(self) -> Option<&'a Stmt> {
        if let Node::Stmt(stmt) = self { Some(stmt) } else { None }
    }

    pub fn call(self) -> Option<&'a crate::parse::ast::ExprCall> {
        self.expr()?.as_call_expr()
    }
}

impl NodeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The id of a node of this file's tree. Each statement, expression and `except` clause has one; keywords and the like have not.
pub(super) fn id_of(node: &(impl HasNodeIndex + ?Sized)) -> NodeId {
    NodeId(node.node_index().load().as_u32().unwrap_or(0))
}

impl<'a> Tree<'a> {
    pub(super) fn with_capacity(nodes: usize) -> Tree<'a> {
        Tree { nodes: Vec::with_capacity(nodes), parents: Vec::with_capacity(nodes), last: Vec::with_capacity(nodes) }
    }

    pub(super) fn enter(&mut self, node: Node<'a>, parent: Option<NodeId>) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        node.node_index().set(NodeIndex::from(id.0));
        self.nodes.push(node);
        self.parents.push(parent);
        self.last.push(id);
        id
    }

    pub(super) fn leave(&mut self, id: NodeId) {
        self.last[id.index()] = NodeId(self.nodes.len() as u32 - 1);
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn node(&self, id: NodeId) -> Node<'a> {
        self.nodes[id.index()]
    }

    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.parents[id.index()]
    }

    /// Everything inside a node, itself first, in order of execution.
    pub fn inside(&self, id: NodeId) -> impl Iterator<Item = Node<'a>> + '_ {
        self.nodes[id.index()..=self.last[id.index()].index()].iter().copied()
    }

    /// Whether `inner` is `outer` or lies inside it.
    pub fn contains(&self, outer: NodeId, inner: NodeId) -> bool {
        outer <= inner && inner <= self.last[outer.index()]
    }

    pub fn all(&self) -> &[Node<'a>] {
        &self.nodes
    }
}
