//! Scopes, places and definitions: what a name or a dotted name (`self.model`) may stand for, and where it was set.
//!
//! Inside one function (or at module level) definitions are in single-assignment form: each use knows the one definition
//! that reaches it, which may be a [`Set::Join`] of several where branches meet or a [`Set::LoopHead`] where a loop turns.
//! A function's free names and the attributes of `self` are resolved without order, since calls come at any time.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::tree::NodeId;
use crate::parse::ast::{
    ExceptHandlerExceptHandler, Parameter, StmtAugAssign, StmtClassDef, StmtFunctionDef, WithItem,
};
use crate::parse::{Expr, TextRange};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(super) u32);
        impl $name {
            pub(super) fn index(self) -> usize { self.0 as usize }
        }
    )+};
}

ids! {
    /// Module, function, class, lambda or comprehension.
    ScopeId,
    /// A name or dotted name in one scope.
    PlaceId,
    /// One setting of a place.
    DefId,
    /// A `def` of this file.
    FunctionId,
    /// A `class` of this file.
    ClassId
}

impl DefId {
    /// "Not set on this path."
    pub const UNSET: DefId = DefId(0);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    Module,
    Function(FunctionId),
    Class(ClassId),
    /// A lambda or comprehension: it runs where it stands.
    Inline,
}

pub struct Scope<'a> {
    pub kind: ScopeKind,
    pub parent: Option<ScopeId>,
    /// The scope whose flow this one shares: itself for modules and functions, the surrounding one for the others.
    pub frame: ScopeId,
    pub(super) names: FxHashMap<&'a str, PlaceId>,
}

pub struct Place<'a> {
    /// The name, or the attribute for a dotted place.
    pub name: &'a str,
    /// What the attribute is taken from.
    pub base: Option<PlaceId>,
    pub scope: ScopeId,
    pub defs: Vec<DefId>,
    pub uses: Vec<NodeId>,
    /// Places of inner functions that read this one.
    pub captured_by: Vec<PlaceId>,
    pub(super) attributes: Vec<(&'a str, PlaceId)>,
    pub(super) slot: u32,
}

/// Where in a target a name stands: `for i, (x, y) in …` gives `x` the path 1, 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    len: u8,
    at: [u8; 3],
}

impl Path {
    pub const WHOLE: Path = Path { len: 0, at: [0; 3] };

    pub(super) fn then(self, index: usize) -> Path {
        let mut next = self;
        if let (Some(at), Ok(index)) = (next.at.get_mut(self.len as usize), u8::try_from(index)) {
            *at = index;
            next.len += 1;
        }
        next
    }

    pub fn first(self) -> Option<usize> {
        (self.len > 0).then(|| self.at[0] as usize)
    }

    /// The path without its first step.
    pub fn rest(self) -> Path {
        if self.len == 0 { self } else { Path { len: self.len - 1, at: [self.at[1], self.at[2], 0] } }
    }

    pub fn is_whole(self) -> bool {
        self.len == 0
    }
}

/// How a place came to its value.
#[derive(Clone, Debug)]
pub enum Set<'a> {
    /// `x = value`, `x: T = value`, `x := value`; the path says which part when the target was a tuple.
    Assign {
        value: &'a Expr,
        path: Path,
    },
    /// `x += value`.
    Augmented {
        stmt: &'a StmtAugAssign,
        before: DefId,
    },
    /// The target of a `for` or of a comprehension.
    Each {
        iter: &'a Expr,
        path: Path,
    },
    /// `with item as x`.
    With {
        item: &'a WithItem,
        path: Path,
    },
    Param {
        function: FunctionId,
        index: usize,
        param: &'a Parameter,
        default: Option<&'a Expr>,
    },
    /// A lambda's parameter.
    LambdaParam,
    Import {
        name: Symbol,
        stmt: NodeId,
    },
    Function(FunctionId),
    Class(ClassId),
    Exception(&'a ExceptHandlerExceptHandler),
    /// `del x`.
    Deleted,
    /// `x: T` without a value.
    Declared {
        annotation: &'a Expr,
    },
    /// Branches meet here.
    Join(SmallVec<[DefId; 2]>),
    /// A loop begins: `before` came from outside, `around` from earlier turns.
    LoopHead {
        loop_node: NodeId,
        before: DefId,
        around: SmallVec<[DefId; 2]>,
    },
    /// Something else binds it (`match`, a star import).
    Other,
}

pub struct Def<'a> {
    pub place: PlaceId,
    pub set: Set<'a>,
    /// The target, the `def`, the `import`…; for joins and loop heads the statement they belong to.
    pub node: NodeId,
    pub range: TextRange,
}

/// A qualified name, interned: `torch.optim.AdamW`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symbol(pub(super) u32);

pub struct Function<'a> {
    pub stmt: &'a StmtFunctionDef,
    pub node: NodeId,
    pub scope: ScopeId,
    /// The class that it is a method of.
    pub class: Option<ClassId>,
    pub params: Vec<DefId>,
    /// What `return` gives back.
    pub returns: Vec<&'a Expr>,
    pub is_generator: bool,
}

pub struct Class<'a> {
    pub stmt: &'a StmtClassDef,
    pub node: NodeId,
    pub scope: ScopeId,
    pub methods: Vec<FunctionId>,
    /// `self.name` over all methods, and names set in the class body.
    pub attributes: FxHashMap<&'a str, Vec<PlaceId>>,
}

/// Qualified names, each stored once.
#[derive(Default)]
pub struct Symbols<'a> {
    steps: FxHashMap<(Symbol, &'a str), Symbol>,
    known: FxHashMap<Box<str>, Symbol>,
    names: Vec<Box<str>>,
}

impl<'a> Symbols<'a> {
    /// The symbol of a dotted name.
    pub fn intern(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.known.get(name) {
            return *symbol;
        }
        let symbol = Symbol(self.names.len() as u32);
        self.names.push(name.into());
        self.known.insert(name.into(), symbol);
        symbol
    }

    /// The symbol of `base.attribute`.
    pub fn step(&mut self, base: Symbol, attribute: &'a str) -> Symbol {
        if let Some(symbol) = self.steps.get(&(base, attribute)) {
            return *symbol;
        }
        let full = format!("{}.{attribute}", self.name(base));
        let symbol = self.intern(&super::names::canonical(&full));
        self.steps.insert((base, attribute), symbol);
        symbol
    }

    /// The symbol of a name that is already known.
    pub fn known(&self, name: &str) -> Option<Symbol> {
        self.known.get(name).copied()
    }

    pub fn any(&self, test: impl Fn(&str) -> bool) -> bool {
        self.names.iter().any(|name| test(name))
    }

    pub fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol.0 as usize]
    }
}
