//! The walk over statements: branches, loops, functions, classes and everything that sets a name.

use smallvec::SmallVec;

use super::build::Builder;
use super::flow::State;
use super::scope::{Class, ClassId, DefId, Function, FunctionId, Path, PlaceId, ScopeKind, Set};
use super::tree::{Node, NodeId};
use crate::parse::Ranged;
use crate::parse::ast::visitor::{Visitor, walk_stmt};
use crate::parse::ast::{self, ExceptHandler, Expr, Pattern, Stmt};

impl<'a> Builder<'a> {
    pub(super) fn visit_statement(&mut self, stmt: &'a Stmt, id: NodeId) {
        match stmt {
            Stmt::FunctionDef(def) => self.visit_function(def, id),
            Stmt::ClassDef(def) => self.visit_class(def, id),
            Stmt::Assign(assign) => self.visit_assign(assign),
            Stmt::AnnAssign(assign) => self.visit_annotated(assign),
            Stmt::AugAssign(assign) => self.visit_augmented(assign),
            Stmt::For(stmt) => self.visit_for(stmt, id),
            Stmt::While(stmt) => self.visit_while(stmt, id),
            Stmt::If(stmt) => self.visit_if(stmt, id),
            Stmt::Match(stmt) => self.visit_match(stmt, id),
            Stmt::Try(stmt) => self.visit_try(stmt, id),
            Stmt::With(stmt) => self.visit_with(stmt),
            Stmt::Import(stmt) => self.visit_import(stmt, id),
            Stmt::ImportFrom(stmt) => self.visit_import_from(stmt, id),
            Stmt::Delete(stmt) => stmt.targets.iter().for_each(|t| self.bind(t, Path::WHOLE, &|_| Set::Deleted)),
            Stmt::Return(stmt) => self.visit_return(stmt),
            Stmt::Raise(_) => {
                walk_stmt(self, stmt);
                self.frame_mut().state.end_here();
            }
            Stmt::Break(_) => self.leave_loop_early(true),
            Stmt::Continue(_) => self.leave_loop_early(false),
            Stmt::Global(ast::StmtGlobal { names, .. }) | Stmt::Nonlocal(ast::StmtNonlocal { names, .. }) => {
                names.iter().for_each(|name| self.share_with_outer(name.as_str()));
            }
            _ => walk_stmt(self, stmt),
        }
    }

    /// `global x`: what this function sets is the outer place's too. Uses here see every setting of it, without order.
    fn share_with_outer(&mut self, name: &'a str) {
        self.place_in(name, self.frame().scope);
        self.shared.push((self.frame().scope, name));
    }

    fn visit_assign(&mut self, assign: &'a ast::StmtAssign) {
        self.visit_expr(&assign.value);
        for target in &assign.targets {
            self.bind(target, Path::WHOLE, &|path| Set::Assign { value: &assign.value, path });
        }
    }

    fn visit_annotated(&mut self, assign: &'a ast::StmtAnnAssign) {
        if let Some(value) = &assign.value {
            self.visit_expr(value);
        }
        self.visit_annotation(&assign.annotation);
        match &assign.value {
            Some(value) => self.bind(&assign.target, Path::WHOLE, &|path| Set::Assign { value, path }),
            None => self.bind(&assign.target, Path::WHOLE, &|_| Set::Declared { annotation: &assign.annotation }),
        }
    }

    fn visit_augmented(&mut self, assign: &'a ast::StmtAugAssign) {
        self.visit_expr(&assign.value);
        let place = self.place_of(&assign.target, false);
        let before = place.map_or(DefId::UNSET, |p| self.frame().state.get(self.places[p.index()].slot));
        self.bind(&assign.target, Path::WHOLE, &|_| Set::Augmented { stmt: assign, before });
    }

    fn visit_for(&mut self, stmt: &'a ast::StmtFor, id: NodeId) {
        self.visit_expr(&stmt.iter);
        let mut places = self.places_set_in(&stmt.body);
        self.collect_target(&stmt.target, &mut places);
        self.open_loop(id, places);
        let head = self.frame().state.clone();
        self.bind(&stmt.target, Path::WHOLE, &|path| Set::Each { iter: &stmt.iter, path });
        self.visit_body(&stmt.body);
        self.finish_loop(head, &stmt.orelse, id, true);
    }

    fn visit_while(&mut self, stmt: &'a ast::StmtWhile, id: NodeId) {
        let places = self.places_set_in(&stmt.body);
        self.open_loop(id, places);
        self.visit_expr(&stmt.test);
        let head = self.frame().state.clone();
        self.visit_body(&stmt.body);
        let forever = matches!(&*stmt.test, Expr::BooleanLiteral(b) if b.value);
        self.finish_loop(head, &stmt.orelse, id, !forever);
    }

    /// After the body: an exhausted loop goes on from its head, a `break` from where it stood.
    fn finish_loop(&mut self, head: State, orelse: &'a [Stmt], id: NodeId, can_end: bool) {
        let mut ends = self.close_loop();
        self.frame_mut().state = head;
        if !can_end {
            self.frame_mut().state.end_here();
        }
        self.visit_body(orelse);
        ends.push(self.frame().state.clone());
        self.frame_mut().state = self.join(ends, id);
    }

    fn visit_if(&mut self, stmt: &'a ast::StmtIf, id: NodeId) {
        self.visit_expr(&stmt.test);
        let mut before = self.frame().state.clone();
        self.visit_body(&stmt.body);
        let mut ends = vec![self.take_state(before.clone())];
        let mut has_else = false;
        for clause in &stmt.elif_else_clauses {
            if let Some(test) = &clause.test {
                self.visit_expr(test);
                before = self.frame().state.clone();
            } else {
                has_else = true;
            }
            self.visit_body(&clause.body);
            ends.push(self.take_state(before.clone()));
        }
        if !has_else {
            ends.push(before);
        }
        self.frame_mut().state = self.join(ends, id);
    }

    fn visit_match(&mut self, stmt: &'a ast::StmtMatch, id: NodeId) {
        self.visit_expr(&stmt.subject);
        let before = self.frame().state.clone();
        let mut ends = vec![before.clone()];
        for case in &stmt.cases {
            self.bind_pattern(&case.pattern, id);
            if let Some(guard) = &case.guard {
                self.visit_expr(guard);
            }
            self.visit_body(&case.body);
            ends.push(self.take_state(before.clone()));
        }
        self.frame_mut().state = self.join(ends, id);
    }

    fn bind_pattern(&mut self, pattern: &'a Pattern, id: NodeId) {
        let name = match pattern {
            Pattern::MatchAs(p) => {
                p.pattern.iter().for_each(|inner| self.bind_pattern(inner, id));
                p.name.as_ref()
            }
            Pattern::MatchStar(p) => p.name.as_ref(),
            Pattern::MatchSequence(p) => {
                p.patterns.iter().for_each(|inner| self.bind_pattern(inner, id));
                None
            }
            Pattern::MatchOr(p) => {
                p.patterns.iter().for_each(|inner| self.bind_pattern(inner, id));
                None
            }
            _ => None,
        };
        if let Some(name) = name {
            let place = self.place_in(name.as_str(), self.scope);
            self.define(place, Set::Other, id, name.range());
        }
    }

    fn visit_try(&mut self, stmt: &'a ast::StmtTry, id: NodeId) {
        let before = self.frame().state.clone();
        self.visit_body(&stmt.body);
        let after = self.frame().state.clone();
        // An exception may come before or after anything the body sets.
        let caught = self.join(vec![before, after], id);
        self.visit_body(&stmt.orelse);
        let mut ends = vec![self.take_state(caught.clone())];
        for ExceptHandler::ExceptHandler(handler) in &stmt.handlers {
            self.frame_mut().state = caught.clone();
            self.visit_handler(handler);
            ends.push(self.take_state(caught.clone()));
        }
        self.frame_mut().state = self.join(ends, id);
        if stmt.finalbody.is_empty() {
            return;
        }
        let leaves = !self.frame().state.is_reachable();
        if leaves {
            self.frame_mut().state = caught;
        }
        self.visit_body(&stmt.finalbody);
        if leaves {
            self.frame_mut().state.end_here();
        }
    }

    fn visit_handler(&mut self, handler: &'a ast::ExceptHandlerExceptHandler) {
        let id = self.enter(Node::Handler(handler));
        if let Some(class) = &handler.type_ {
            self.visit_expr(class);
        }
        if let Some(name) = &handler.name {
            let place = self.place_in(name.as_str(), self.scope);
            self.define(place, Set::Exception(handler), id, name.range());
        }
        self.visit_body(&handler.body);
        self.leave(id);
    }

    fn visit_with(&mut self, stmt: &'a ast::StmtWith) {
        for item in &stmt.items {
            self.visit_expr(&item.context_expr);
            if let Some(target) = &item.optional_vars {
                self.bind(target, Path::WHOLE, &|path| Set::With { item, path });
            }
        }
        self.visit_body(&stmt.body);
    }

    fn visit_import(&mut self, stmt: &'a ast::StmtImport, id: NodeId) {
        for alias in &stmt.names {
            let full = alias.name.as_str();
            match &alias.asname {
                Some(name) => self.import(name.as_str(), full, id, alias.range()),
                // `import torch.nn` binds `torch`.
                None => {
                    let root = full.split('.').next().unwrap_or(full);
                    self.import(root, root, id, alias.range());
                }
            }
        }
    }

    fn visit_import_from(&mut self, stmt: &'a ast::StmtImportFrom, id: NodeId) {
        let dots = ".".repeat(stmt.level as usize);
        let module = stmt.module.as_ref().map_or("", |m| m.as_str());
        for alias in &stmt.names {
            if alias.name.as_str() == "*" {
                self.star_imports.push(format!("{dots}{module}"));
                continue;
            }
            let full = match module {
                "" => format!("{dots}{}", alias.name.as_str()),
                _ => format!("{dots}{module}.{}", alias.name.as_str()),
            };
            let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            self.import(name, &full, id, alias.range());
        }
    }

    fn visit_return(&mut self, stmt: &'a ast::StmtReturn) {
        if let Some(value) = &stmt.value {
            self.visit_expr(value);
            if let Some(function) = self.current_function() {
                self.function(function).returns.push(value);
            }
        }
        self.frame_mut().state.end_here();
    }

    fn visit_function(&mut self, def: &'a ast::StmtFunctionDef, id: NodeId) {
        def.decorator_list.iter().for_each(|d| self.visit_expr(&d.expression));
        self.visit_defaults(&def.parameters);
        for annotation in def.parameters.iter().filter_map(|p| p.annotation()).chain(def.returns.as_deref()) {
            self.visit_annotation(annotation);
        }
        let function = FunctionId(self.functions.len() as u32);
        let class = self.current_class();
        let place = self.place_in(def.name.as_str(), self.scope);
        self.define(place, Set::Function(function), id, def.name.range());
        let scope = self.open_scope(ScopeKind::Function(function));
        let (params, returns) = (Vec::new(), Vec::new());
        self.functions.push(Function { stmt: def, node: id, scope, class, params, returns, is_generator: false });
        if let Some(class) = class {
            self.classes[class.index()].methods.push(function);
        }
        self.push_frame(scope);
        self.bind_params(def, function, id);
        self.visit_body(&def.body);
        self.pop_frame();
        self.close_scope();
    }

    fn bind_params(&mut self, def: &'a ast::StmtFunctionDef, function: FunctionId, id: NodeId) {
        for (index, any) in def.parameters.iter().enumerate() {
            let param = any.as_parameter();
            let default = any.default();
            let place = self.place_in(param.name.as_str(), self.scope);
            let set = Set::Param { function, index, param, default };
            let def = self.define(place, set, id, param.range());
            self.function(function).params.push(def);
        }
    }

    fn visit_class(&mut self, def: &'a ast::StmtClassDef, id: NodeId) {
        def.decorator_list.iter().for_each(|d| self.visit_expr(&d.expression));
        if let Some(arguments) = &def.arguments {
            self.visit_arguments(arguments);
        }
        let class = ClassId(self.classes.len() as u32);
        let place = self.place_in(def.name.as_str(), self.scope);
        self.define(place, Set::Class(class), id, def.name.range());
        let scope = self.open_scope(ScopeKind::Class(class));
        let (methods, attributes) = (Vec::new(), Default::default());
        self.classes.push(Class { stmt: def, node: id, scope, methods, attributes });
        self.visit_body(&def.body);
        self.close_scope();
    }

    fn take_state(&mut self, next: State) -> State {
        std::mem::replace(&mut self.frame_mut().state, next)
    }

    /// The places that these statements set, nested blocks included and nested functions not.
    fn places_set_in(&mut self, body: &'a [Stmt]) -> Vec<PlaceId> {
        let mut targets: Vec<&'a Expr> = Vec::new();
        let mut names: Vec<&'a str> = Vec::new();
        super::targets::collect(body, &mut targets, &mut names, 0);
        let mut places = Vec::new();
        targets.into_iter().for_each(|target| self.collect_target(target, &mut places));
        for name in names {
            places.push(self.place_in(name, self.scope));
        }
        places
    }

    fn collect_target(&mut self, target: &'a Expr, places: &mut Vec<PlaceId>) {
        let mut open: SmallVec<[&'a Expr; 4]> = SmallVec::from_slice(&[target]);
        while let Some(expr) = open.pop() {
            match expr {
                Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => open.extend(elts),
                Expr::Starred(starred) => open.push(&starred.value),
                _ => {
                    if let Some(place) = self.place_of(expr, true) {
                        places.push(place);
                    }
                }
            }
        }
    }
}
