//! Where a value ends up: does it reach `backward`, is it returned, saved, kept or handed to somebody else?

use rustc_hash::FxHashSet;

use super::Facts;
use super::scope::DefId;
use super::tree::Node;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};

/// What becomes of a value, followed through names, arithmetic and calls that pass it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// `.backward()` is called on it, or it is given to `backward(…)`, `scaler.scale(…)` or `autograd.grad(…)`.
    pub backward: bool,
    /// It leaves the function by `return` or `yield`.
    pub returned: bool,
    /// It is given to `torch.save` or the like.
    pub saved: bool,
    /// It is put into a container or an attribute.
    pub stored: bool,
    /// It is an argument of a function that we know nothing about.
    pub passed: bool,
    /// A plain number is made of it: `.item()`, `float(…)`.
    pub read: bool,
}

impl Fate {
    fn add(&mut self, other: Fate) {
        self.backward |= other.backward;
        self.returned |= other.returned;
        self.saved |= other.saved;
        self.stored |= other.stored;
        self.passed |= other.passed;
        self.read |= other.read;
    }
}

/// A value is followed through this many definitions.
const MOST: usize = 256;

/// Methods that end the flow of a tensor: what they give is not it any more.
const ENDS: &[&str] = &["item", "tolist", "numpy", "detach", "argmax", "argmin", "size", "dim", "numel"];
const STORES: &[&str] =
    &["append", "extend", "add", "appendleft", "insert", "push", "put", "store", "update", "setdefault"];
const SAVES: &[&str] = &["torch.save", "safetensors.torch.save_file", "pickle.dump", "joblib.dump", "numpy.save"];

impl<'a> Facts<'a> {
    /// What becomes of the value of a definition.
    pub fn fate(&self, def: DefId) -> Fate {
        if let Some(fate) = self.memo.fates.borrow().get(&def) {
            return *fate;
        }
        let Some(_guard) = self.descend() else { return Fate::default() };
        self.memo.fates.borrow_mut().insert(def, Fate::default());
        let fate = self.follow(Trail { open: vec![def], ..Trail::default() });
        self.memo.fates.borrow_mut().insert(def, fate);
        fate
    }

    /// What becomes of the value of an expression from here on.
    pub fn fate_of(&self, expr: &'a Expr) -> Fate {
        let mut trail = Trail::default();
        self.follow_use(expr, &mut trail);
        self.follow(trail)
    }

    /// Goes from definition to definition until nothing new is met.
    fn follow(&self, mut trail: Trail) -> Fate {
        let mut seen = FxHashSet::default();
        while let Some(def) = trail.open.pop() {
            if seen.len() >= MOST || !seen.insert(def) {
                continue;
            }
            for used in self.uses(def) {
                self.follow_use(used, &mut trail);
            }
            trail.open.extend(self.continued_by(def));
        }
        trail.fate
    }

    fn follow_use(&self, used: &'a Expr, trail: &mut Trail) {
        let mut current = used;
        loop {
            match self.parent(current) {
                Some(Node::Expr(parent)) => match self.through(current, parent, trail) {
                    Flow::On => current = parent,
                    Flow::Ends => return,
                },
                Some(Node::Stmt(stmt)) => return self.end_in(current, stmt, trail),
                _ => return,
            }
        }
    }

    /// One step outwards: does the parent expression still carry the value?
    fn through(&self, inner: &'a Expr, parent: &'a Expr, trail: &mut Trail) -> Flow {
        match parent {
            Expr::Attribute(attribute) => match attribute.attr.as_str() {
                "backward" => {
                    trail.fate.backward = true;
                    Flow::Ends
                }
                name if ENDS.contains(&name) => {
                    trail.fate.read = true;
                    Flow::Ends
                }
                "shape" | "data" | "device" | "dtype" | "grad" => Flow::Ends,
                _ => Flow::On,
            },
            Expr::Call(call) if std::ptr::eq(&*call.func, inner) => Flow::On,
            Expr::Call(call) => self.as_argument(inner, call, trail),
            Expr::Compare(_) | Expr::Lambda(_) | Expr::FString(_) => Flow::Ends,
            Expr::Subscript(subscript) if std::ptr::eq(&*subscript.slice, inner) => Flow::Ends,
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                trail.fate.returned = true;
                Flow::Ends
            }
            _ => Flow::On,
        }
    }

    fn as_argument(&self, inner: &'a Expr, call: &'a ExprCall, trail: &mut Trail) -> Flow {
        let name = self.called_name(call).unwrap_or("");
        if let Some(full) = self.callee(call) {
            if SAVES.contains(&full) {
                trail.fate.saved = true;
                return Flow::Ends;
            }
            if full.starts_with("torch.autograd.") {
                trail.fate.backward = true;
                return Flow::Ends;
            }
            return if full.starts_with("torch.") { Flow::On } else { passed(trail) };
        }
        match name {
            "backward" | "scale" | "manual_backward" => {
                trail.fate.backward = true;
                Flow::Ends
            }
            "float" | "int" | "str" | "len" | "print" | "isinstance" | "repr" | "round" | "format" => {
                trail.fate.read = true;
                Flow::Ends
            }
            "sum" | "list" | "tuple" | "max" | "min" => Flow::On,
            _ if STORES.contains(&name) && call.func.is_attribute_expr() => self.store_in(call, trail),
            _ => match self.callee_function(call) {
                Some(function) => self.hand_to(inner, call, function, trail),
                // A module or criterion computes with it: the result carries it on.
                None if self.kind(&call.func).is_module() => Flow::On,
                None => passed(trail),
            },
        }
    }

    /// Kept in a container: what becomes of that container becomes of it.
    fn store_in(&self, call: &'a ExprCall, trail: &mut Trail) -> Flow {
        trail.fate.stored = true;
        if let Expr::Attribute(attribute) = &*call.func {
            trail.open.extend(self.defs(&attribute.value));
        }
        Flow::Ends
    }

    fn hand_to(&self, inner: &'a Expr, call: &'a ExprCall, function: super::FunctionId, trail: &mut Trail) -> Flow {
        let params = &self.function(function).params;
        for (index, param) in params.iter().enumerate() {
            if self.argument_for(call, function, index).is_some_and(|a| std::ptr::eq(a, inner)) {
                let inside = self.fate(*param);
                trail.fate.add(Fate { returned: false, ..inside });
                return if inside.returned { Flow::On } else { Flow::Ends };
            }
        }
        passed(trail)
    }

    fn end_in(&self, value: &'a Expr, stmt: &'a Stmt, trail: &mut Trail) {
        match stmt {
            Stmt::Return(_) => trail.fate.returned = true,
            Stmt::Assign(assign) if std::ptr::eq(&*assign.value, value) => {
                assign.targets.iter().for_each(|target| self.set_target(target, trail));
            }
            Stmt::AnnAssign(assign) => self.set_target(&assign.target, trail),
            Stmt::AugAssign(assign) if std::ptr::eq(&*assign.value, value) => self.set_target(&assign.target, trail),
            _ => {}
        }
    }

    fn set_target(&self, target: &'a Expr, trail: &mut Trail) {
        match target {
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|t| self.set_target(t, trail)),
            Expr::Subscript(subscript) => {
                trail.fate.stored = true;
                trail.open.extend(self.defs(&subscript.value));
            }
            Expr::Name(_) | Expr::Attribute(_) => {
                trail.fate.stored |= target.is_attribute_expr();
                trail.open.extend(self.defined_by(target));
            }
            _ => {}
        }
    }
}

/// What is known so far, and the definitions still to follow.
#[derive(Default)]
struct Trail {
    fate: Fate,
    open: Vec<DefId>,
}

enum Flow {
    On,
    Ends,
}

fn passed(trail: &mut Trail) -> Flow {
    trail.fate.passed = true;
    Flow::Ends
}
