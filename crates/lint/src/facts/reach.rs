//! From a use to its definitions, and from a definition to its uses.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::Facts;
use super::scope::{ClassId, DefId, PlaceId, Set};
use super::tree::{Node, NodeId};
use crate::parse::{Expr, HasNodeIndex};

/// A use is followed through this many joins and definitions; generated code has more.
const MOST: usize = 96;

pub type Defs = SmallVec<[DefId; 4]>;

/// For each definition, the uses that it reaches and the joins that it flows into.
#[derive(Default)]
pub(super) struct UseTable {
    uses: Vec<Vec<NodeId>>,
    joins: Vec<Vec<DefId>>,
    /// `x += y` goes on with what `x` was.
    continued: Vec<Vec<DefId>>,
}

impl<'a> Facts<'a> {
    /// The definitions that may reach a use of a name or dotted name; joins and loop heads are resolved to what they join.
    ///
    /// Free names and attributes of `self` give every definition in the outer scope or the class.
    pub fn defs(&self, expr: &Expr) -> Defs {
        let id = self.id(expr);
        let Some(place) = self.node_place[id.index()] else { return Defs::new() };
        let mut found = Defs::new();
        if self.expand(self.node_def[id.index()], &mut found) {
            for def in self.outer_defs(place) {
                if !found.contains(&def) {
                    found.push(def);
                }
            }
        }
        found
    }

    /// The definition that reaches a use as it is, which may be a join or a loop head.
    pub fn def_at(&self, expr: &Expr) -> Option<DefId> {
        let def = self.node_def[self.id(expr).index()];
        (def != DefId::UNSET).then_some(def)
    }

    /// The definition that a target (`x` in `x = 1`) makes.
    pub fn defined_by(&self, target: &Expr) -> Option<DefId> {
        self.def_at(target).filter(|def| self.def(*def).node == self.id(target))
    }

    /// The real definitions behind one that may be a join or a loop head.
    pub fn real_defs(&self, def: DefId) -> Defs {
        let mut found = Defs::new();
        self.expand(def, &mut found);
        found
    }

    /// Like [`Facts::real_defs`]; also says whether on some path the place is not set in this function.
    pub fn real_defs_or_unset(&self, def: DefId) -> (Defs, bool) {
        let mut found = Defs::new();
        let unset = self.expand(def, &mut found);
        (found, unset)
    }

    /// Adds the real definitions behind `def`. Says whether one of the paths leaves the place unset here.
    fn expand(&self, def: DefId, found: &mut Defs) -> bool {
        let mut unset = false;
        let mut open: SmallVec<[DefId; 8]> = SmallVec::from_slice(&[def]);
        let mut seen: SmallVec<[DefId; 8]> = SmallVec::new();
        while let Some(def) = open.pop() {
            if def == DefId::UNSET {
                unset = true;
                continue;
            }
            if seen.contains(&def) || seen.len() > MOST {
                continue;
            }
            seen.push(def);
            match &self.def(def).set {
                Set::Join(operands) => open.extend(operands.iter().copied()),
                Set::LoopHead { before, around, .. } => {
                    open.push(*before);
                    open.extend(around.iter().copied());
                }
                _ if !found.contains(&def) => found.push(def),
                _ => {}
            }
        }
        unset
    }

    /// Definitions from outside the function: of a free name, of an attribute of `self`, of an attribute of a free name.
    fn outer_defs(&self, place: PlaceId) -> Vec<DefId> {
        if let Some((class, name)) = self.self_attribute(place) {
            return self.attribute_defs(class, name);
        }
        match self.outer_place(place) {
            Some(outer) => self.place(outer).defs.clone(),
            None => Vec::new(),
        }
    }

    fn outer_place(&self, place: PlaceId) -> Option<PlaceId> {
        match self.place(place).base {
            None => self.outer[place.index()],
            Some(base) => {
                let outer = self.outer_place(base)?;
                let name = self.place(place).name;
                self.place(outer).attributes.iter().find(|(n, _)| *n == name).map(|(_, p)| *p)
            }
        }
    }

    /// Class and attribute, for a place `self.x`.
    pub fn self_attribute(&self, place: PlaceId) -> Option<(ClassId, &'a str)> {
        let base = self.place(place).base?;
        Some((self.instance_of(base)?, self.place(place).name))
    }

    /// The class whose `self` a place is.
    fn instance_of(&self, place: PlaceId) -> Option<ClassId> {
        let own = self.place(place);
        let bound = if own.defs.is_empty() { self.place(self.outer[place.index()]?) } else { own };
        match self.def(*bound.defs.first()?).set {
            Set::Param { function, index: 0, .. } => self.function(function).class,
            _ => None,
        }
    }

    /// The class whose `self` an expression is.
    pub fn self_class(&self, expr: &Expr) -> Option<ClassId> {
        self.instance_of(self.place_at(expr)?)
    }

    /// Every definition of `self.name` in a class, and of `name` in its body.
    pub fn attribute_defs(&self, class: ClassId, name: &str) -> Vec<DefId> {
        let places = self.class(class).attributes.get(name);
        places.into_iter().flatten().flat_map(|p| self.place(*p).defs.iter().copied()).collect()
    }

    /// Every use of `self.name` in a class.
    pub fn attribute_uses(&self, class: ClassId, name: &str) -> Vec<NodeId> {
        let places = self.class(class).attributes.get(name);
        places.into_iter().flatten().flat_map(|p| self.place(*p).uses.iter().copied()).collect()
    }

    /// The place that an expression names.
    pub fn place_at(&self, expr: &Expr) -> Option<PlaceId> {
        self.node_place[self.id(expr).index()]
    }

    /// Whether two expressions name the same thing: `optimizer` and `optimizer`, `self.opt` in two methods.
    pub fn same_place(&self, a: &Expr, b: &Expr) -> bool {
        match (self.place_at(a), self.place_at(b)) {
            (Some(a), Some(b)) => a == b || self.bound_place(a) == self.bound_place(b),
            _ => a.is_call_expr() == b.is_call_expr() && self.text(a) == self.text(b),
        }
    }

    /// Free names and attributes of `self` count as the outer place.
    fn bound_place(&self, place: PlaceId) -> Result<PlaceId, (ClassId, &'a str)> {
        if let Some(attribute) = self.self_attribute(place) {
            return Err(attribute);
        }
        let set_here = !self.place(place).defs.is_empty();
        Ok(if set_here { place } else { self.outer_place(place).unwrap_or(place) })
    }

    /// The uses that a definition reaches, through joins and loop heads, in order; reads by inner functions too.
    pub fn uses(&self, def: DefId) -> Vec<&'a Expr> {
        let table = self.memo.uses.get_or_init(|| self.use_table());
        let mut found = Vec::new();
        let mut open = vec![def];
        let mut seen = FxHashSet::default();
        while let Some(def) = open.pop() {
            if seen.insert(def) {
                found.extend(table.uses[def.index()].iter().copied());
                open.extend(table.joins[def.index()].iter().copied());
            }
        }
        for place in self.readers_elsewhere(def) {
            found.extend(self.place(place).uses.iter().copied());
        }
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|id| self.node(id).expr()).collect()
    }

    /// The definitions `x += y` that go on with what this one set.
    pub(super) fn continued_by(&self, def: DefId) -> &[DefId] {
        &self.memo.uses.get_or_init(|| self.use_table()).continued[def.index()]
    }

    /// Places of inner functions, or of other methods, that read what this definition sets.
    fn readers_elsewhere(&self, def: DefId) -> Vec<PlaceId> {
        let own = self.def(def).place;
        if let Some((class, name)) = self.self_attribute(own) {
            let all = self.class(class).attributes.get(name).into_iter().flatten().copied();
            return all.filter(|p| *p != own).collect();
        }
        self.place(own).captured_by.clone()
    }

    /// Every use of a place in its function, whichever definition reaches it; reads by inner functions too.
    pub fn place_uses(&self, place: PlaceId) -> Vec<&'a Expr> {
        let inner = self.place(place).captured_by.iter().flat_map(|p| self.place(*p).uses.iter());
        let mut uses: Vec<NodeId> = self.place(place).uses.iter().chain(inner).copied().collect();
        uses.sort_unstable();
        uses.into_iter().filter_map(|id| self.node(id).expr()).collect()
    }

    fn use_table(&self) -> UseTable {
        let defs = self.defs.len();
        let mut table =
            UseTable { uses: vec![Vec::new(); defs], joins: vec![Vec::new(); defs], continued: vec![Vec::new(); defs] };
        for (index, def) in self.node_def.iter().enumerate() {
            let id = NodeId(index as u32);
            if *def != DefId::UNSET && self.def(*def).node != id {
                table.uses[def.index()].push(id);
            }
        }
        for (index, def) in self.defs.iter().enumerate() {
            let to = DefId(index as u32);
            match &def.set {
                Set::Join(operands) => operands.iter().for_each(|d| table.joins[d.index()].push(to)),
                Set::LoopHead { before, around, .. } => {
                    around.iter().chain([before]).for_each(|d| table.joins[d.index()].push(to));
                }
                Set::Augmented { before, .. } => {
                    self.real_defs(*before).iter().for_each(|d| table.continued[d.index()].push(to));
                }
                _ => {}
            }
        }
        table.joins[DefId::UNSET.index()].clear();
        table
    }

    /// The one value that a name has, when it has exactly one assignment: `x = f()` gives `f()`. Other expressions are their own.
    pub fn resolve(&self, expr: &'a Expr) -> &'a Expr {
        let mut current = expr;
        for _ in 0..8 {
            match self.defs(current)[..] {
                [def] => match &self.def(def).set {
                    Set::Assign { value, path } if path.is_whole() => current = value,
                    _ => return current,
                },
                _ => return current,
            }
        }
        current
    }

    /// Whether a name is set before the loop begins and read or set again inside it.
    pub fn set_before(&self, expr: &Expr, outer: &(impl HasNodeIndex + ?Sized)) -> bool {
        let loop_node = self.id(outer);
        self.defs(expr).iter().any(|def| {
            let node = self.def(*def).node;
            !self.tree.contains(loop_node, node)
        })
    }

    /// The node of a definition: its target, its `def`, its `import`.
    pub fn def_node(&self, def: DefId) -> Node<'a> {
        self.node(self.def(def).node)
    }
}
