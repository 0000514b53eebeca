//! The one walk over a file: gives every node its id, resolves each use to the definition that reaches it, and notes
//! functions, classes and loops on the way.

use rustc_hash::FxHashMap;

use super::flow::{OpenLoop, State};
use super::names;
use super::scope::{
    Class, ClassId, Def, DefId, Function, FunctionId, Path, Place, PlaceId, Scope, ScopeId, ScopeKind, Set, Symbols,
};
use super::tree::{Node, NodeId, Tree};
use crate::parse::ast::visitor::{Visitor, walk_expr};
use crate::parse::ast::{self, Comprehension, ExprContext, Parameters};
use crate::parse::{Expr, Ranged, Stmt, TextRange};

/// Deeper trees are refused: every later walk would need as much stack.
pub(super) const DEEPEST: usize = 1_000;

/// The flow of one function, or of the module.
pub(super) struct Frame {
    pub scope: ScopeId,
    pub state: State,
    pub loops: Vec<OpenLoop>,
    /// Slot to place.
    pub places: Vec<PlaceId>,
}

pub(super) struct Builder<'a> {
    pub tree: Tree<'a>,
    pub scopes: Vec<Scope<'a>>,
    pub places: Vec<Place<'a>>,
    pub defs: Vec<Def<'a>>,
    pub functions: Vec<Function<'a>>,
    pub classes: Vec<Class<'a>>,
    pub symbols: Symbols<'a>,
    /// For each node: its scope, the place that it names, the definition that reaches it.
    pub node_scope: Vec<ScopeId>,
    pub node_place: Vec<Option<PlaceId>>,
    pub node_def: Vec<DefId>,
    pub star_imports: Vec<String>,
    /// Names that a function declared `global` or `nonlocal`.
    pub shared: Vec<(ScopeId, &'a str)>,
    pub too_deep: bool,
    frames: Vec<Frame>,
    pub(super) scope: ScopeId,
    parents: Vec<NodeId>,
}

impl<'a> Builder<'a> {
    /// Walks the statements of a file of this many bytes.
    pub fn walk(body: &'a [Stmt], bytes: usize) -> Builder<'a> {
        // Measured on transformers: a node for every eight bytes.
        let nodes = bytes / 8;
        let root = ScopeId(0);
        let unset = Def { place: PlaceId(0), set: Set::Other, node: NodeId(0), range: TextRange::default() };
        let module = Scope { kind: ScopeKind::Module, parent: None, frame: root, names: FxHashMap::default() };
        let mut builder = Builder {
            tree: Tree::with_capacity(nodes),
            scopes: vec![module],
            places: Vec::new(),
            defs: vec![unset],
            functions: Vec::new(),
            classes: Vec::new(),
            symbols: Symbols::default(),
            node_scope: Vec::with_capacity(nodes),
            node_place: Vec::with_capacity(nodes),
            node_def: Vec::with_capacity(nodes),
            star_imports: Vec::new(),
            shared: Vec::new(),
            too_deep: false,
            frames: Vec::new(),
            scope: root,
            parents: Vec::new(),
        };
        builder.push_frame(root);
        builder.visit_body(body);
        builder
    }

    pub(super) fn frame(&self) -> &Frame {
        self.frames.last().expect("the module's frame is never popped")
    }

    pub(super) fn frame_mut(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the module's frame is never popped")
    }

    pub(super) fn push_frame(&mut self, scope: ScopeId) {
        self.frames.push(Frame { scope, state: State::default(), loops: Vec::new(), places: Vec::new() });
    }

    pub(super) fn pop_frame(&mut self) {
        self.frames.pop();
    }

    pub(super) fn enter(&mut self, node: Node<'a>) -> NodeId {
        let id = self.tree.enter(node, self.parents.last().copied());
        self.node_scope.push(self.scope);
        self.node_place.push(None);
        self.node_def.push(DefId::UNSET);
        self.parents.push(id);
        id
    }

    pub(super) fn leave(&mut self, id: NodeId) {
        self.parents.pop();
        self.tree.leave(id);
    }

    pub(super) fn open_scope(&mut self, kind: ScopeKind) -> ScopeId {
        let id = ScopeId(self.scopes.len() as u32);
        let frame = if matches!(kind, ScopeKind::Function(_)) { id } else { self.frame().scope };
        self.scopes.push(Scope { kind, parent: Some(self.scope), frame, names: FxHashMap::default() });
        self.scope = id;
        id
    }

    pub(super) fn close_scope(&mut self) {
        if let Some(parent) = self.scopes[self.scope.index()].parent {
            self.scope = parent;
        }
    }

    fn add_place(&mut self, name: &'a str, base: Option<PlaceId>, scope: ScopeId) -> PlaceId {
        let id = PlaceId(self.places.len() as u32);
        let frame = self.frame_mut();
        let slot = frame.places.len() as u32;
        frame.places.push(id);
        let (defs, uses, captured_by, attributes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        self.places.push(Place { name, base, scope, defs, uses, captured_by, attributes, slot });
        id
    }

    /// The place of a name that is read: the innermost scope of this frame that has it, else the frame's own.
    fn place_read(&mut self, name: &'a str) -> PlaceId {
        let frame = self.frame().scope;
        let mut scope = self.scope;
        loop {
            if let Some(place) = self.scopes[scope.index()].names.get(name) {
                return *place;
            }
            match self.scopes[scope.index()].parent {
                Some(parent) if scope != frame => scope = parent,
                _ => return self.place_in(name, frame),
            }
        }
    }

    pub(super) fn place_in(&mut self, name: &'a str, scope: ScopeId) -> PlaceId {
        if let Some(place) = self.scopes[scope.index()].names.get(name) {
            return *place;
        }
        let place = self.add_place(name, None, scope);
        self.scopes[scope.index()].names.insert(name, place);
        place
    }

    fn attribute_of(&mut self, base: PlaceId, name: &'a str) -> PlaceId {
        let known = self.places[base.index()].attributes.iter().find(|(n, _)| *n == name);
        if let Some((_, place)) = known {
            return *place;
        }
        let scope = self.places[base.index()].scope;
        let place = self.add_place(name, Some(base), scope);
        self.places[base.index()].attributes.push((name, place));
        place
    }

    /// The place that `a` or `a.b.c` names; nothing for other expressions. `written` says that the last part is set.
    pub(super) fn place_of(&mut self, expr: &'a Expr, written: bool) -> Option<PlaceId> {
        match expr {
            Expr::Name(name) if written => Some(self.place_in(name.id.as_str(), self.scope)),
            Expr::Name(name) => Some(self.place_read(name.id.as_str())),
            Expr::Attribute(attribute) => {
                let base = self.place_of(&attribute.value, false)?;
                Some(self.attribute_of(base, attribute.attr.as_str()))
            }
            _ => None,
        }
    }

    fn record_use(&mut self, id: NodeId, place: PlaceId) {
        let slot = self.places[place.index()].slot;
        self.node_place[id.index()] = Some(place);
        self.node_def[id.index()] = self.frame().state.get(slot);
        self.places[place.index()].uses.push(id);
    }

    /// Sets a place: from here on this definition is in force, and what was known of its attributes is not.
    pub(super) fn define(&mut self, place: PlaceId, set: Set<'a>, node: NodeId, range: TextRange) -> DefId {
        let def = self.add_def(place, set, node, range);
        self.places[place.index()].defs.push(def);
        let slot = self.places[place.index()].slot;
        self.frame_mut().state.set(slot, def);
        self.forget_attributes(place);
        def
    }

    fn forget_attributes(&mut self, place: PlaceId) {
        let attributes: Vec<PlaceId> = self.places[place.index()].attributes.iter().map(|(_, p)| *p).collect();
        for attribute in attributes {
            let slot = self.places[attribute.index()].slot;
            self.frame_mut().state.set(slot, DefId::UNSET);
            self.forget_attributes(attribute);
        }
    }

    /// Visits an assignment target and sets what it names. `set` makes the definition for a path inside the target.
    pub(super) fn bind(&mut self, target: &'a Expr, path: Path, set: &dyn Fn(Path) -> Set<'a>) {
        if self.parents.len() > DEEPEST {
            self.too_deep = true;
            return;
        }
        let id = self.enter(Node::Expr(target));
        match target {
            Expr::Name(_) | Expr::Attribute(_) => {
                if let Expr::Attribute(attribute) = target {
                    self.visit_expr(&attribute.value);
                }
                if let Some(place) = self.place_of(target, true) {
                    let def = self.define(place, set(path), id, target.range());
                    self.node_place[id.index()] = Some(place);
                    self.node_def[id.index()] = def;
                }
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                for (index, element) in elts.iter().enumerate() {
                    self.bind(element, path.then(index), set);
                }
            }
            Expr::Starred(starred) => self.bind(&starred.value, path, &|_| Set::Other),
            _ => walk_expr(self, target),
        }
        self.leave(id);
    }

    fn visit_comprehension_parts(&mut self, generators: &'a [Comprehension], results: &[&'a Expr]) {
        self.open_scope(ScopeKind::Inline);
        for generator in generators {
            self.visit_expr(&generator.iter);
            self.bind(&generator.target, Path::WHOLE, &|path| Set::Each { iter: &generator.iter, path });
            generator.ifs.iter().for_each(|test| self.visit_expr(test));
        }
        results.iter().for_each(|result| self.visit_expr(result));
        self.close_scope();
    }

    fn visit_lambda(&mut self, lambda: &'a ast::ExprLambda, id: NodeId) {
        if let Some(parameters) = &lambda.parameters {
            self.visit_defaults(parameters);
        }
        self.open_scope(ScopeKind::Inline);
        for parameter in lambda.parameters.iter().flat_map(|p| p.iter()) {
            let place = self.place_in(parameter.name().as_str(), self.scope);
            self.define(place, Set::LambdaParam, id, parameter.range());
        }
        self.visit_expr(&lambda.body);
        self.close_scope();
    }

    pub(super) fn visit_defaults(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
        }
    }

    pub(super) fn import(&mut self, name: &'a str, full: &str, stmt: NodeId, range: TextRange) {
        let symbol = self.symbols.intern(&names::canonical(full));
        let place = self.place_in(name, self.scope);
        self.define(place, Set::Import { name: symbol, stmt }, stmt, range);
    }

    pub(super) fn function(&mut self, id: FunctionId) -> &mut Function<'a> {
        &mut self.functions[id.index()]
    }

    pub(super) fn current_function(&self) -> Option<FunctionId> {
        match self.scopes[self.frame().scope.index()].kind {
            ScopeKind::Function(id) => Some(id),
            _ => None,
        }
    }

    pub(super) fn current_class(&self) -> Option<ClassId> {
        match self.scopes[self.scope.index()].kind {
            ScopeKind::Class(id) => Some(id),
            _ => None,
        }
    }
}

impl<'a> Visitor<'a> for Builder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if self.parents.len() > DEEPEST {
            self.too_deep = true;
            return;
        }
        let id = self.enter(Node::Stmt(stmt));
        self.visit_statement(stmt, id);
        self.leave(id);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.parents.len() > DEEPEST {
            self.too_deep = true;
            return;
        }
        let id = self.enter(Node::Expr(expr));
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Load => {
                let place = self.place_read(name.id.as_str());
                self.record_use(id, place);
            }
            Expr::Attribute(attribute) => {
                self.visit_expr(&attribute.value);
                if attribute.ctx == ExprContext::Load
                    && let Some(place) = self.place_of(expr, false)
                {
                    self.record_use(id, place);
                }
            }
            Expr::Named(named) => {
                self.visit_expr(&named.value);
                self.bind(&named.target, Path::WHOLE, &|path| Set::Assign { value: &named.value, path });
            }
            Expr::Lambda(lambda) => self.visit_lambda(lambda, id),
            Expr::ListComp(c) => self.visit_comprehension_parts(&c.generators, &[&c.elt]),
            Expr::SetComp(c) => self.visit_comprehension_parts(&c.generators, &[&c.elt]),
            Expr::Generator(c) => self.visit_comprehension_parts(&c.generators, &[&c.elt]),
            Expr::DictComp(c) => {
                let results: Vec<&Expr> = c.key.iter().map(AsRef::as_ref).chain([c.value.as_ref()]).collect();
                self.visit_comprehension_parts(&c.generators, &results);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                if let Some(function) = self.current_function() {
                    self.function(function).is_generator = true;
                }
                walk_expr(self, expr);
            }
            _ => walk_expr(self, expr),
        }
        self.leave(id);
    }
}
