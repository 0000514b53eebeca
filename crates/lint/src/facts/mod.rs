//! What is known about one file, found in one walk and asked by the rules.
//!
//! | question | where |
//! |---|---|
//! | which library object is this | `names.rs`: [`Facts::qualified`], [`Facts::callee`] |
//! | which definitions reach this use, where is it used | `reach.rs`: [`Facts::defs`], [`Facts::uses`] |
//! | what is this value | `kind.rs`: [`Facts::kind`], [`Facts::origin`] |
//! | does it carry an autograd graph | `grad.rs`: [`Facts::grad`]; `no_grad.rs`: [`Facts::grad_disabled`] |
//! | which loop is this, over what | `loops.rs`: [`Facts::loop_of`], [`Facts::loop_kind`] |
//! | what happens in a training step, in which order | `events.rs`: [`Facts::events`] |
//! | where does a value end up | `fate.rs`: [`Facts::fate`] |
//! | who calls this function; which framework owns it | `calls.rs`, `owner.rs` |
//! | does the code speak of this, comments aside | `words.rs`: [`Facts::says`] |

mod accumulation;
mod build;
mod calls;
mod device;
mod evaluation;
mod events;
mod fate;
mod finish;
mod flow;
mod grad;
mod guess;
mod host;
mod huggingface;
mod keeping;
mod kind;
mod library;
mod loops;
mod names;
mod no_grad;
mod origin;
mod owner;
mod precision;
mod reach;
mod recovery;
mod scope;
mod statements;
mod targets;
mod tree;
mod words;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

pub use accumulation::Accumulation;
pub use evaluation::Evaluation;
pub use events::{Event, EventKind, Guard};
pub use fate::Fate;
pub use grad::Grad;
pub use keeping::Kept;
pub use kind::Kind;
pub use loops::literal_number;
pub use loops::{Loop, LoopKind, Turns};
pub use owner::Framework;
pub use precision::{Dtype, LowPrecision};
pub use scope::{
    Class, ClassId, Def, DefId, Function, FunctionId, Path, Place, PlaceId, Scope, ScopeId, ScopeKind, Set, Symbol,
};
pub(crate) use targets::blocks;
pub use tree::{Node, NodeId, Tree};

use crate::parse::ast::{StmtClassDef, StmtFunctionDef};
use crate::parse::{HasNodeIndex, Parsed, Stmt};
use crate::project::Project;
use crate::source::Source;
use scope::Symbols;

/// Everything the rules may ask about a file.
pub struct Facts<'a> {
    pub source: &'a Source,
    pub parsed: &'a Parsed,
    pub project: &'a Project,
    tree: Tree<'a>,
    scopes: Vec<Scope<'a>>,
    places: Vec<Place<'a>>,
    defs: Vec<Def<'a>>,
    functions: Vec<Function<'a>>,
    classes: Vec<Class<'a>>,
    symbols: Symbols<'a>,
    node_scope: Vec<ScopeId>,
    node_place: Vec<Option<PlaceId>>,
    node_def: Vec<DefId>,
    node_symbol: Vec<Option<Symbol>>,
    outer: Vec<Option<PlaceId>>,
    imported: Vec<(&'a str, Symbol)>,
    star_imports: Vec<String>,
    memo: Memo<'a>,
}

/// Answers that were worked out once. Rules ask the same questions of the same nodes.
#[derive(Default)]
struct Memo<'a> {
    kinds: RefCell<FxHashMap<NodeId, kind::Value>>,
    def_kinds: RefCell<FxHashMap<DefId, kind::Value>>,
    guesses: RefCell<FxHashMap<PlaceId, Option<Kind>>>,
    grads: RefCell<FxHashMap<NodeId, Option<Grad>>>,
    def_grads: RefCell<FxHashMap<DefId, Option<Grad>>>,
    frozen: RefCell<FxHashMap<PlaceId, bool>>,
    fates: RefCell<FxHashMap<DefId, Fate>>,
    events: RefCell<FxHashMap<NodeId, Rc<[Event<'a>]>>>,
    /// Of the file's own statements.
    file_events: OnceCell<Rc<[Event<'a>]>>,
    loops: RefCell<FxHashMap<NodeId, LoopKind>>,
    classes: RefCell<FxHashMap<ClassId, Kind>>,
    uses: OnceCell<reach::UseTable>,
    sites: OnceCell<Vec<Vec<NodeId>>>,
    methods: OnceCell<FxHashMap<&'a str, Option<FunctionId>>>,
    no_grad_functions: RefCell<FxHashMap<FunctionId, bool>>,
    switches: OnceCell<Vec<no_grad::Switch>>,
}

/// The file is nested deeper than it can be walked.
#[derive(Debug, PartialEq, Eq)]
pub struct TooDeep;

impl<'a> Facts<'a> {
    /// Walks a parsed file.
    pub fn new(source: &'a Source, parsed: &'a Parsed, project: &'a Project) -> Result<Facts<'a>, TooDeep> {
        let builder = build::Builder::walk(parsed.body(), source.text().len());
        if builder.too_deep {
            return Err(TooDeep);
        }
        Ok(finish::finish(builder, source, parsed, project))
    }

    pub fn tree(&self) -> &Tree<'a> {
        &self.tree
    }

    /// The id of a statement, expression or `except` clause. Ids grow in order of execution.
    pub fn id(&self, node: &(impl HasNodeIndex + ?Sized)) -> NodeId {
        tree::id_of(node)
    }

    pub fn node(&self, id: NodeId) -> Node<'a> {
        self.tree.node(id)
    }

    /// What a node stands in; nothing for the file's own statements.
    pub fn parent(&self, node: &(impl HasNodeIndex + ?Sized)) -> Option<Node<'a>> {
        self.tree.parent(self.id(node)).map(|id| self.tree.node(id))
    }

    /// What a node stands in, from the inside out. Goes through `def` and `class` up to the file.
    pub fn ancestors(&self, node: &(impl HasNodeIndex + ?Sized)) -> impl Iterator<Item = Node<'a>> + '_ {
        let first = self.tree.parent(self.id(node));
        std::iter::successors(first, |id| self.tree.parent(*id)).map(|id| self.tree.node(id))
    }

    /// Like [`Facts::ancestors`], but ends before the enclosing `def` or `class`.
    pub fn ancestors_here(&self, node: &(impl HasNodeIndex + ?Sized)) -> impl Iterator<Item = Node<'a>> + '_ {
        self.ancestors(node).take_while(|n| !matches!(n, Node::Stmt(Stmt::FunctionDef(_) | Stmt::ClassDef(_))))
    }

    /// The statement that an expression is part of (a statement is its own).
    pub fn statement(&self, node: &(impl HasNodeIndex + ?Sized)) -> &'a Stmt {
        let mut id = self.id(node);
        loop {
            match (self.tree.node(id), self.tree.parent(id)) {
                (Node::Stmt(stmt), _) => return stmt,
                (_, Some(parent)) => id = parent,
                (_, None) => unreachable!("every expression is part of a statement"),
            }
        }
    }

    /// Everything inside a node, itself first, in order of execution.
    pub fn inside(&self, node: &(impl HasNodeIndex + ?Sized)) -> impl Iterator<Item = Node<'a>> + '_ {
        self.tree.inside(self.id(node))
    }

    /// Like [`Facts::inside`], without the bodies of functions and classes defined there.
    pub fn inside_here(&self, node: &(impl HasNodeIndex + ?Sized)) -> impl Iterator<Item = Node<'a>> + '_ {
        let function = self.function_id(node);
        let start = self.id(node);
        self.tree.inside(start).filter(move |n| self.function_id(n) == function)
    }

    /// Whether `inner` is `outer` or lies inside it.
    pub fn contains(&self, outer: &(impl HasNodeIndex + ?Sized), inner: &(impl HasNodeIndex + ?Sized)) -> bool {
        self.tree.contains(self.id(outer), self.id(inner))
    }

    /// Whether `a` runs before `b` in one pass over the file.
    pub fn before(&self, a: &(impl HasNodeIndex + ?Sized), b: &(impl HasNodeIndex + ?Sized)) -> bool {
        self.id(a) < self.id(b)
    }

    /// The function that a node is part of; decorators and defaults belong to the function around.
    pub fn function_id(&self, node: &(impl HasNodeIndex + ?Sized)) -> Option<FunctionId> {
        let scope = self.node_scope[self.id(node).index()];
        match self.scopes[self.scopes[scope.index()].frame.index()].kind {
            ScopeKind::Function(id) => Some(id),
            _ => None,
        }
    }

    pub fn function_of(&self, node: &(impl HasNodeIndex + ?Sized)) -> Option<&Function<'a>> {
        self.function_id(node).map(|id| self.function(id))
    }

    pub fn function(&self, id: FunctionId) -> &Function<'a> {
        &self.functions[id.index()]
    }

    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, &Function<'a>)> {
        self.functions.iter().enumerate().map(|(i, f)| (FunctionId(i as u32), f))
    }

    /// The id of a `def` statement.
    pub fn function_defined_by(&self, def: &StmtFunctionDef) -> Option<FunctionId> {
        let node = self.id(def);
        self.functions.binary_search_by_key(&node, |f| f.node).ok().map(|i| FunctionId(i as u32))
    }

    /// The class whose method a node is part of (also from functions inside the method), or in whose body it stands.
    pub fn class_of(&self, node: &(impl HasNodeIndex + ?Sized)) -> Option<ClassId> {
        let mut scope = Some(self.node_scope[self.id(node).index()]);
        while let Some(id) = scope {
            if let ScopeKind::Class(class) = self.scopes[id.index()].kind {
                return Some(class);
            }
            scope = self.scopes[id.index()].parent;
        }
        None
    }

    pub fn class(&self, id: ClassId) -> &Class<'a> {
        &self.classes[id.index()]
    }

    pub fn classes(&self) -> impl Iterator<Item = (ClassId, &Class<'a>)> {
        self.classes.iter().enumerate().map(|(i, c)| (ClassId(i as u32), c))
    }

    pub fn class_defined_by(&self, def: &StmtClassDef) -> Option<ClassId> {
        let node = self.id(def);
        self.classes.binary_search_by_key(&node, |c| c.node).ok().map(|i| ClassId(i as u32))
    }

    /// A method of a class of this file, by name.
    pub fn method_of(&self, class: ClassId, name: &str) -> Option<FunctionId> {
        self.class(class).methods.iter().rev().copied().find(|f| self.function(*f).stmt.name.as_str() == name)
    }

    pub fn def(&self, id: DefId) -> &Def<'a> {
        &self.defs[id.index()]
    }

    pub fn place(&self, id: PlaceId) -> &Place<'a> {
        &self.places[id.index()]
    }

    pub fn scope(&self, id: ScopeId) -> &Scope<'a> {
        &self.scopes[id.index()]
    }
}
