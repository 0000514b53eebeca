//! After the walk: free names find their outer places, attributes of `self` are gathered by class, and every dotted name
//! that starts at an import gets its qualified name.

use super::build::Builder;
use super::scope::{ClassId, DefId, PlaceId, ScopeId, ScopeKind, Set, Symbol};
use super::tree::{Node, id_of};
use super::{Facts, Memo, names};
use crate::parse::{Expr, Parsed};
use crate::project::Project;
use crate::source::Source;

pub(super) fn finish<'a>(
    mut builder: Builder<'a>,
    source: &'a Source,
    parsed: &'a Parsed,
    project: &'a Project,
) -> Facts<'a> {
    share_globals(&mut builder);
    let outer = outer_places(&mut builder);
    gather_attributes(&mut builder, &outer);
    let node_symbol = resolve_symbols(&mut builder, &outer);
    let imported = imported_names(&builder);
    Facts {
        source,
        parsed,
        project,
        tree: builder.tree,
        scopes: builder.scopes,
        places: builder.places,
        defs: builder.defs,
        functions: builder.functions,
        classes: builder.classes,
        symbols: builder.symbols,
        node_scope: builder.node_scope,
        node_place: builder.node_place,
        node_def: builder.node_def,
        node_symbol,
        outer,
        imported,
        star_imports: builder.star_imports,
        memo: Memo::default(),
    }
}

fn share_globals(builder: &mut Builder<'_>) {
    for (scope, name) in std::mem::take(&mut builder.shared) {
        let Some(own) = builder.scopes[scope.index()].names.get(name).copied() else { continue };
        let Some(outer) = find_outer(builder, scope, name, false) else { continue };
        let defs = builder.places[own.index()].defs.clone();
        builder.places[outer.index()].defs.extend(defs);
    }
}

/// The place that a name of this scope would be, were it not set here. Class bodies are invisible from inside methods.
fn find_outer(builder: &Builder<'_>, scope: ScopeId, name: &str, must_be_set: bool) -> Option<PlaceId> {
    let mut next = builder.scopes[scope.index()].parent;
    while let Some(id) = next {
        let scope = &builder.scopes[id.index()];
        next = scope.parent;
        if matches!(scope.kind, ScopeKind::Class(_)) {
            continue;
        }
        if let Some(place) = scope.names.get(name).copied()
            && (!must_be_set || !builder.places[place.index()].defs.is_empty())
        {
            return Some(place);
        }
    }
    None
}

fn outer_places(builder: &mut Builder<'_>) -> Vec<Option<PlaceId>> {
    let mut outer = vec![None; builder.places.len()];
    for (index, found) in outer.iter_mut().enumerate() {
        let place = &builder.places[index];
        if place.base.is_some() || place.scope == ScopeId(0) {
            continue;
        }
        let frame = builder.scopes[place.scope.index()].frame;
        *found = find_outer(builder, frame, place.name, true);
        if let Some(target) = *found
            && !builder.places[index].uses.is_empty()
        {
            builder.places[target.index()].captured_by.push(PlaceId(index as u32));
        }
    }
    outer
}

/// The class whose instance a place is, when it is the first parameter of a method.
pub(super) fn self_class(builder: &Builder<'_>, outer: &[Option<PlaceId>], place: PlaceId) -> Option<ClassId> {
    let own = &builder.places[place.index()];
    let bound = if own.defs.is_empty() { &builder.places[outer[place.index()]?.index()] } else { own };
    match builder.defs[bound.defs.first()?.index()].set {
        Set::Param { function, index: 0, .. } => builder.functions[function.index()].class,
        _ => None,
    }
}

fn gather_attributes(builder: &mut Builder<'_>, outer: &[Option<PlaceId>]) {
    for index in 0..builder.places.len() {
        let place = &builder.places[index];
        let name = place.name;
        let class = match place.base {
            Some(base) if builder.places[base.index()].base.is_none() => self_class(builder, outer, base),
            Some(_) => None,
            None => match builder.scopes[place.scope.index()].kind {
                ScopeKind::Class(class) => Some(class),
                _ => None,
            },
        };
        if let Some(class) = class {
            builder.classes[class.index()].attributes.entry(name).or_default().push(PlaceId(index as u32));
        }
    }
}

/// Children come after their parents in the list, so that walking it backwards meets `torch` before `torch.nn`.
fn resolve_symbols(builder: &mut Builder<'_>, outer: &[Option<PlaceId>]) -> Vec<Option<Symbol>> {
    let mut symbols = vec![None; builder.tree.len()];
    let mut free: Vec<Option<Option<Symbol>>> = vec![None; builder.places.len()];
    for index in (0..builder.tree.len()).rev() {
        let Node::Expr(expr) = builder.tree.all()[index] else { continue };
        symbols[index] = match expr {
            Expr::Name(_) => match (builder.node_def[index], builder.node_place[index]) {
                (DefId::UNSET, Some(place)) => {
                    *free[place.index()].get_or_insert_with(|| free_symbol(builder, outer, place))
                }
                (def, _) => imported_symbol(builder, def, 8),
            },
            Expr::Attribute(attribute) => symbols[id_of(&*attribute.value).index()]
                .map(|base| builder.symbols.step(base, attribute.attr.as_str())),
            _ => None,
        };
    }
    symbols
}

fn free_symbol(builder: &mut Builder<'_>, outer: &[Option<PlaceId>], place: PlaceId) -> Option<Symbol> {
    let own = &builder.places[place.index()];
    // A name of a comprehension's scope lives in the same frame; module-level names may be set further down.
    let bound = outer[place.index()].or_else(|| (!own.defs.is_empty()).then_some(place));
    match bound {
        Some(bound) => builder.places[bound.index()].defs.iter().find_map(|def| imported_symbol(builder, *def, 8)),
        None => names::conventional(own.name).map(|name| builder.symbols.intern(name)),
    }
}

/// The import behind a definition; through joins (`try: import a … except ImportError: import b as a`) and plain aliases.
fn imported_symbol(builder: &Builder<'_>, def: DefId, budget: u8) -> Option<Symbol> {
    if def == DefId::UNSET || budget == 0 {
        return None;
    }
    match &builder.defs[def.index()].set {
        Set::Import { name, .. } => Some(*name),
        Set::Join(operands) => operands.iter().rev().find_map(|d| imported_symbol(builder, *d, budget - 1)),
        Set::LoopHead { before, .. } => imported_symbol(builder, *before, budget - 1),
        _ => None,
    }
}

fn imported_names<'a>(builder: &Builder<'a>) -> Vec<(&'a str, Symbol)> {
    let mut imported = Vec::new();
    for def in &builder.defs {
        if let Set::Import { name, .. } = def.set {
            imported.push((builder.places[def.place.index()].name, name));
        }
    }
    for place in builder.places.iter().filter(|p| p.base.is_none() && p.defs.is_empty() && p.scope == ScopeId(0)) {
        if let Some(symbol) = names::conventional(place.name).and_then(|name| builder.symbols.known(name)) {
            imported.push((place.name, symbol));
        }
    }
    imported
}
