//! Which values carry an autograd graph.
//!
//! The answer is that of the *definition*: a value computed under `no_grad` stays without a graph wherever it is used.

use super::no_grad::first_is;
use super::scope::{DefId, FunctionId, Path, Set};
use super::tree::Node;
use super::{EventKind, Facts, Kind, library};
use crate::parse::Expr;
use crate::parse::ast::ExprCall;

/// Whether a value carries an autograd graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grad {
    Unknown,
    /// It keeps the graph, and with it the activations, that made it.
    Graph,
    /// A number, a detached tensor, something made under `no_grad`.
    Free,
}

/// Methods whose result has no graph.
const BREAKERS: &[&str] = &[
    "item", "tolist", "numpy", "detach", "detach_", "argmax", "argmin", "argsort", "size", "dim", "numel", "nelement",
    "eq", "ne", "gt", "lt", "ge", "le", "long", "int", "bool", "byte", "short", "isnan", "isinf", "isfinite",
    "nonzero", "bincount",
];

/// Functions and methods whose second result is indices.
const WITH_INDICES: &[&str] = &["max", "min", "topk", "sort", "kthvalue", "mode", "median"];

/// Attributes without a graph.
const PLAIN: &[&str] = &[
    "data",
    "shape",
    "device",
    "dtype",
    "grad",
    "requires_grad",
    "ndim",
    "is_cuda",
    "grad_fn",
    "past_key_values_length",
];

/// Library functions whose result has no graph, whatever they are given.
const PLAIN_FUNCTIONS: &[&str] = &[
    "torch.argmax",
    "torch.argmin",
    "torch.argsort",
    "torch.eq",
    "torch.isnan",
    "torch.isinf",
    "torch.nonzero",
    "torch.bincount",
    "torch.tensor",
    "torch.as_tensor",
    "torch.from_numpy",
    "torch.zeros_like",
    "torch.ones_like",
    "torch.rand_like",
    "torch.randn_like",
    "torch.full_like",
    "torch.empty_like",
    "torch.is_tensor",
    "torch.equal",
    "torch.allclose",
    "torch.multinomial",
    "torch.zeros",
    "torch.ones",
    "torch.full",
    "torch.empty",
    "torch.rand",
    "torch.randn",
    "torch.randint",
    "torch.arange",
    "torch.linspace",
    "torch.eye",
    "torch.randperm",
    "torch.numel",
    "torch.autograd.grad",
];

impl<'a> Facts<'a> {
    /// Whether a value carries a graph.
    pub fn grad(&self, expr: &'a Expr) -> Grad {
        self.grad_or_open(expr).unwrap_or(Grad::Unknown)
    }

    /// Nothing while the same question is being answered: a value that goes round a loop adds nothing to itself.
    fn grad_or_open(&self, expr: &'a Expr) -> Option<Grad> {
        let id = self.id(expr);
        if let Some(grad) = self.memo.grads.borrow().get(&id) {
            return *grad;
        }
        let Some(_guard) = self.descend() else { return Some(Grad::Unknown) };
        self.memo.grads.borrow_mut().insert(id, None);
        let grad = self.work_out_grad(expr);
        self.memo.grads.borrow_mut().insert(id, Some(grad));
        Some(grad)
    }

    fn work_out_grad(&self, expr: &'a Expr) -> Grad {
        match expr {
            Expr::Name(_) => self.named_grad(expr),
            Expr::Attribute(attribute) if PLAIN.contains(&attribute.attr.as_str()) => Grad::Free,
            Expr::Attribute(attribute) => match self.named_grad(expr) {
                Grad::Unknown => self.grad(&attribute.value),
                known => known,
            },
            Expr::Call(call) => self.call_grad(call),
            Expr::BinOp(op) => any([self.grad_or_open(&op.left), self.grad_or_open(&op.right)]),
            Expr::UnaryOp(op) => self.grad(&op.operand),
            Expr::If(branch) => any([self.grad_or_open(&branch.body), self.grad_or_open(&branch.orelse)]),
            Expr::BoolOp(op) => any(op.values.iter().map(|v| self.grad_or_open(v))),
            Expr::Subscript(subscript) => self.grad(&subscript.value),
            Expr::Tuple(tuple) => any(tuple.elts.iter().map(|e| self.grad_or_open(e))),
            Expr::List(list) => any(list.elts.iter().map(|e| self.grad_or_open(e))),
            Expr::Dict(dict) => any(dict.iter_values().map(|v| self.grad_or_open(v))),
            Expr::ListComp(comp) => self.grad(&comp.elt),
            Expr::Generator(comp) => self.grad(&comp.elt),
            Expr::Starred(starred) => self.grad(&starred.value),
            Expr::Named(named) => self.grad(&named.value),
            Expr::Await(inner) => self.grad(&inner.value),
            Expr::Compare(_) | Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => Grad::Free,
            Expr::StringLiteral(_) | Expr::FString(_) => Grad::Free,
            _ => Grad::Unknown,
        }
    }

    fn named_grad(&self, expr: &'a Expr) -> Grad {
        any(self.defs(expr).iter().map(|def| self.def_grad_or_open(*def)))
    }

    /// Whether the value that a definition sets carries a graph.
    pub fn def_grad(&self, def: DefId) -> Grad {
        self.def_grad_or_open(def).unwrap_or(Grad::Unknown)
    }

    fn def_grad_or_open(&self, def: DefId) -> Option<Grad> {
        if let Some(grad) = self.memo.def_grads.borrow().get(&def) {
            return *grad;
        }
        let Some(_guard) = self.descend() else { return Some(Grad::Unknown) };
        self.memo.def_grads.borrow_mut().insert(def, None);
        let grad = self.work_out_def_grad(def);
        self.memo.def_grads.borrow_mut().insert(def, Some(grad));
        Some(grad)
    }

    fn work_out_def_grad(&self, def: DefId) -> Grad {
        let from_value = match &self.def(def).set {
            Set::Assign { value, path } => self.part_grad(value, *path),
            Set::Augmented { stmt, before } => {
                let before = self.real_defs(*before);
                let parts = before.iter().map(|d| self.def_grad_or_open(*d));
                any(parts.chain([self.grad_or_open(&stmt.value)]))
            }
            Set::Param { function, index, .. } => self.param_grad(*function, *index),
            Set::Each { iter, .. } => match self.kind(self.turns(iter).over) {
                Kind::Loader | Kind::Dataset | Kind::Batch => Grad::Free,
                Kind::Container => self.grad(self.turns(iter).over),
                _ => Grad::Unknown,
            },
            _ => Grad::Unknown,
        };
        // What backward is called on has a graph, whatever we could not see.
        match from_value {
            Grad::Unknown if self.is_backpropagated(def) => Grad::Graph,
            known => known,
        }
    }

    /// Whether `backward` is called on this very value: `x.backward()`, `accelerator.backward(x)`, `scaler.scale(x)`.
    pub fn is_backpropagated(&self, def: DefId) -> bool {
        self.uses(def).into_iter().any(|used| match self.parent(used) {
            Some(Node::Expr(Expr::Attribute(attribute))) => attribute.attr.as_str() == "backward",
            Some(Node::Expr(Expr::Call(call))) => match self.event_of(call) {
                Some((EventKind::Backward, Some(target), _)) => std::ptr::eq(target, used),
                _ => self.called_name(call) == Some("scale") && call.func.is_attribute_expr(),
            },
            _ => false,
        })
    }

    fn part_grad(&self, value: &'a Expr, path: Path) -> Grad {
        match (value, path.first()) {
            (Expr::Tuple(tuple), Some(index)) => {
                tuple.elts.get(index).map_or(Grad::Unknown, |e| self.part_grad(e, path.rest()))
            }
            // `_, predicted = torch.max(out, 1)`: the second part is indices.
            (Expr::Call(call), Some(1)) if self.called_name(call).is_some_and(|n| WITH_INDICES.contains(&n)) => {
                Grad::Free
            }
            // What else a criterion gives is often detached already.
            (Expr::Call(call), Some(1..)) if self.is(&call.func, Kind::Criterion) => Grad::Unknown,
            (Expr::Call(call), Some(_)) if let Some(function) = self.callee_function(call) => {
                if self.grad_disabled(call) {
                    return Grad::Free;
                }
                any(self.function(function).returns.iter().map(|r| Some(self.part_grad(r, path))))
            }
            (Expr::Call(call), Some(_)) if let Some(forward) = self.forward_of(&call.func) => {
                let returned = &self.function(forward).returns;
                match any(returned.iter().map(|r| Some(self.part_grad(r, path)))) {
                    Grad::Free => Grad::Free,
                    _ => self.grad(value),
                }
            }
            // `a, b = result`: what `result` was set to.
            (Expr::Name(_), Some(_)) if self.resolve(value).is_call_expr() => self.part_grad(self.resolve(value), path),
            _ => self.grad(value),
        }
    }

    /// `forward` of a module whose class stands in this file.
    fn forward_of(&self, module: &'a Expr) -> Option<FunctionId> {
        let made = self.constructor(module)?;
        match self.kind(&made.func) {
            Kind::Class(class) => self.method_of(class, "forward"),
            _ => None,
        }
    }

    fn param_grad(&self, function: FunctionId, index: usize) -> Grad {
        let sites = self.call_sites(function);
        any(sites.iter().take(8).filter_map(|c| self.argument_for(c, function, index)).map(|a| self.grad_or_open(a)))
    }

    fn call_grad(&self, call: &'a ExprCall) -> Grad {
        if let Some(name) = self.callee(call) {
            return self.library_grad(name, call);
        }
        if let Expr::Attribute(attribute) = &*call.func
            && (BREAKERS.contains(&attribute.attr.as_str()) || attribute.attr.as_str() == "multinomial")
        {
            return Grad::Free;
        }
        if self.grad_disabled(call) {
            return Grad::Free;
        }
        match self.kind(&call.func) {
            Kind::Module | Kind::Engine => return self.module_grad(&call.func),
            Kind::Criterion => return self.arguments_grad(call),
            Kind::Tokenizer | Kind::Metric => return Grad::Free,
            Kind::Function(function) => {
                return any(self.function(function).returns.iter().map(|r| self.grad_or_open(r)));
            }
            _ => {}
        }
        match &*call.func {
            Expr::Attribute(attribute) => self.method_grad(call, &attribute.value, attribute.attr.as_str()),
            Expr::Name(name) => match name.id.as_str() {
                "float" | "int" | "len" | "bool" | "str" | "round" | "repr" => Grad::Free,
                "sum" | "list" | "tuple" | "max" | "min" => self.arguments_grad(call),
                _ => Grad::Unknown,
            },
            _ => Grad::Unknown,
        }
    }

    fn method_grad(&self, call: &'a ExprCall, owner: &'a Expr, name: &str) -> Grad {
        match (self.kind(owner), name) {
            (Kind::Module, "generate" | "state_dict") => Grad::Free,
            (Kind::Scaler, "scale") => self.arguments_grad(call),
            (Kind::Accelerator, "gather" | "gather_for_metrics" | "reduce") => Grad::Free,
            (Kind::Module | Kind::Engine, name) if library::method(Kind::Module, name) == Some(Kind::ModelOutput) => {
                self.module_grad(owner)
            }
            (Kind::Module | Kind::Optimizer, _) => match self.callee_function(call) {
                Some(function) => any(self.function(function).returns.iter().map(|r| self.grad_or_open(r))),
                None => Grad::Unknown,
            },
            (kind, "to" | "type" | "float" | "half") if kind.is_tensor() => self.grad(owner),
            _ => match self.callee_function(call) {
                Some(function) if self.self_class(owner).is_some() => {
                    any(self.function(function).returns.iter().map(|r| self.grad_or_open(r)))
                }
                _ => self.grad(owner),
            },
        }
    }

    /// A frozen module fed with plain data gives plain data.
    fn module_grad(&self, module: &'a Expr) -> Grad {
        if self.is_frozen(module) { Grad::Unknown } else { Grad::Graph }
    }

    /// Whether `requires_grad_(False)` is called on a module, in this file.
    pub fn is_frozen(&self, module: &'a Expr) -> bool {
        let Some(place) = self.place_at(module) else { return false };
        if let Some(known) = self.memo.frozen.borrow().get(&place) {
            return *known;
        }
        let frozen = self.work_out_frozen(module, place);
        self.memo.frozen.borrow_mut().insert(place, frozen);
        frozen
    }

    fn work_out_frozen(&self, module: &'a Expr, place: super::PlaceId) -> bool {
        let in_origin = self.origin(module).is_some_and(|o| self.inside(o).any(|n| self.freezes(n)));
        in_origin
            || self.place_uses(place).into_iter().any(|used| {
                let mut chain =
                    self.ancestors(used).take_while(|n| matches!(n, Node::Expr(Expr::Attribute(_) | Expr::Call(_))));
                chain.any(|n| self.freezes(n))
            })
    }

    fn freezes(&self, node: Node<'a>) -> bool {
        node.call().is_some_and(|call| self.called_name(call) == Some("requires_grad_") && first_is(call, false))
    }

    fn library_grad(&self, name: &str, call: &'a ExprCall) -> Grad {
        if PLAIN_FUNCTIONS.contains(&name) {
            let wants = call.arguments.find_keyword("requires_grad").is_some_and(|k| is_true(&k.value));
            return if wants { Grad::Graph } else { Grad::Free };
        }
        if self.grad_disabled(call) || name.starts_with("numpy.") || name.starts_with("math.") {
            return Grad::Free;
        }
        if name.starts_with("torch.") { self.arguments_grad(call) } else { Grad::Unknown }
    }

    fn arguments_grad(&self, call: &'a ExprCall) -> Grad {
        let keywords = call.arguments.keywords.iter().map(|k| &k.value);
        any(call.arguments.args.iter().chain(keywords).map(|a| self.grad_or_open(a)))
    }
}

/// Several values together: one graph is enough; unknown parts leave it open, parts that are still asked for add nothing.
fn any(grads: impl IntoIterator<Item = Option<Grad>>) -> Grad {
    let mut sum = None;
    for grad in grads.into_iter().flatten() {
        sum = match (sum, grad) {
            (_, Grad::Graph) => return Grad::Graph,
            (Some(Grad::Unknown), _) | (_, Grad::Unknown) => Some(Grad::Unknown),
            _ => Some(Grad::Free),
        };
    }
    sum.unwrap_or(Grad::Unknown)
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::BooleanLiteral(literal) if literal.value)
}
