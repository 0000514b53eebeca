//! Numbers with fewer bits: casts, models whose weights were cast, autocast regions.

use super::events::EventKind;
use super::tree::Node;
use super::{Facts, Kind};
use crate::parse::ast::{ExprCall, StmtWith};
use crate::parse::{Expr, HasNodeIndex, Stmt};

/// The floating types that training code chooses between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    Double,
    Float,
    Half,
    Bfloat,
}

impl Dtype {
    fn of(name: &str) -> Option<Dtype> {
        Some(match name {
            "torch.float64" | "torch.double" => Dtype::Double,
            "torch.float32" | "torch.float" => Dtype::Float,
            "torch.float16" | "torch.half" => Dtype::Half,
            "torch.bfloat16" => Dtype::Bfloat,
            _ => return None,
        })
    }

    pub fn is_short(self) -> bool {
        matches!(self, Dtype::Half | Dtype::Bfloat)
    }
}

/// A model whose weights were cast to a shorter type.
#[derive(Clone, Copy, Debug)]
pub struct LowPrecision<'a> {
    /// The cast, or the constructor that was told the type.
    pub cast: &'a ExprCall,
    /// The name or attribute that the model is known by from then on.
    pub model: &'a Expr,
    pub dtype: Dtype,
}

impl<'a> Facts<'a> {
    /// The type that an expression names: `torch.float16`, or a name set to it once.
    pub fn dtype(&self, expr: &'a Expr) -> Option<Dtype> {
        match expr {
            Expr::StringLiteral(text) => Dtype::of(&format!("torch.{}", text.value.to_str())),
            _ => self.qualified(self.resolve(expr)).or_else(|| self.qualified(expr)).and_then(Dtype::of),
        }
    }

    /// What a call casts, and to what: `x.half()`, `x.to(torch.bfloat16)`, `x.to(device, dtype=torch.float16)`.
    pub fn cast(&self, call: &'a ExprCall) -> Option<(&'a Expr, Dtype)> {
        let (owner, name) = self.method(call)?;
        let dtype = match name {
            "half" => Dtype::Half,
            "bfloat16" => Dtype::Bfloat,
            "float" => Dtype::Float,
            "double" => Dtype::Double,
            "to" | "type" => {
                let keyword = call.arguments.find_keyword("dtype").and_then(|k| self.dtype(&k.value));
                keyword.or_else(|| {
                    call.arguments.args.iter().filter(|a| !a.is_string_literal_expr()).find_map(|a| self.dtype(a))
                })?
            }
            _ => return None,
        };
        Some((owner, dtype))
    }

    /// The model that a call leaves with short weights, unless a condition decides about it or it is cast back later.
    pub fn low_precision(&self, call: &'a ExprCall) -> Option<LowPrecision<'a>> {
        let dtype = match self.cast(call) {
            Some((_, dtype)) => dtype,
            None if self.called_name(call) == Some("from_pretrained") => {
                let keyword = ["dtype", "torch_dtype"].iter().find_map(|k| call.arguments.find_keyword(k))?;
                self.dtype(&keyword.value)?
            }
            None => return None,
        };
        let model = self.cast_model(call)?;
        let found = LowPrecision { cast: call, model, dtype };
        (dtype.is_short() && !self.is_conditional(call) && !self.is_cast_back(&found)).then_some(found)
    }

    /// Who holds the result: `model` in `model.half()` and in `model = Net().half().cuda()`.
    fn cast_model(&self, call: &'a ExprCall) -> Option<&'a Expr> {
        match self.statement(call) {
            Stmt::Expr(_) => {
                self.cast(call).map(|(owner, _)| owner).filter(|o| self.is(o, Kind::Module) && !o.is_call_expr())
            }
            Stmt::Assign(assign) => {
                let [target @ (Expr::Name(_) | Expr::Attribute(_))] = &assign.targets[..] else { return None };
                (self.is_chain_over(&assign.value, call) && self.is(&assign.value, Kind::Module)).then_some(target)
            }
            _ => None,
        }
    }

    /// `outer` is `inner` with methods called on it: `Net().half().cuda()`.
    fn is_chain_over(&self, outer: &'a Expr, inner: &'a ExprCall) -> bool {
        let mut current = outer;
        while let Expr::Call(call) = current {
            if std::ptr::eq(call, inner) {
                return true;
            }
            let Some((owner, _)) = self.method(call) else { return false };
            current = owner;
        }
        false
    }

    fn is_conditional(&self, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        self.ancestors_here(node).any(|a| matches!(a, Node::Stmt(Stmt::If(_) | Stmt::Try(_)) | Node::Expr(Expr::If(_))))
    }

    fn is_cast_back(&self, found: &LowPrecision<'a>) -> bool {
        self.tree().all().iter().filter_map(|n| n.call()).any(|call| {
            !std::ptr::eq(call, found.cast)
                && self.before(found.cast, call)
                && self.cast(call).is_some_and(|(owner, dtype)| {
                    dtype != found.dtype && (self.same_place(owner, found.model) || self.contains(owner, found.cast))
                })
        }) || self
            .ancestors_here(found.cast)
            .filter_map(Node::call)
            .any(|c| self.cast(c).is_some_and(|(_, d)| d != found.dtype))
    }

    /// The constructor of an optimizer that is given `model.parameters()` of this model, after it was cast.
    pub fn optimizer_of(&self, low: &LowPrecision<'a>) -> Option<&'a ExprCall> {
        self.tree().all().iter().filter_map(|n| n.call()).find(|call| {
            self.callee(call).is_some()
                && self.kind_of_call(call) == Kind::Optimizer
                && self.before(low.cast, *call)
                && call
                    .arguments
                    .args
                    .iter()
                    .chain(call.arguments.keywords.iter().map(|k| &k.value))
                    .any(|a| self.takes_parameters(a, low.model))
        })
    }

    fn kind_of_call(&self, call: &'a ExprCall) -> Kind {
        self.call_value(call).kind
    }

    fn takes_parameters(&self, argument: &'a Expr, model: &'a Expr) -> bool {
        self.inside(argument).filter_map(Node::call).any(|call| {
            self.method(call).is_some_and(|(owner, name)| {
                matches!(name, "parameters" | "named_parameters") && self.same_place(owner, model)
            })
        })
    }

    /// Every `scaler.step(optimizer)` of the file, with the scaler.
    pub fn scaler_steps(&self) -> Vec<(&'a ExprCall, &'a Expr)> {
        let calls = self.tree().all().iter().filter_map(|n| n.call());
        calls
            .filter(|c| self.called_name(c) == Some("step"))
            .filter_map(|c| match self.event_of(c) {
                Some((EventKind::ScalerStep, _, Some(by))) => Some((c, by)),
                _ => None,
            })
            .collect()
    }

    /// Whether a scaler always scales: nothing says `enabled=…` but `True`.
    pub fn always_scales(&self, scaler: &'a Expr) -> bool {
        let made = self.constructors(scaler);
        made.iter().all(|call| match call.arguments.find_keyword("enabled") {
            Some(keyword) => keyword.value.as_boolean_literal_expr().is_some_and(|b| b.value),
            None => call.arguments.keywords.iter().all(|k| k.arg.is_some()),
        })
    }

    /// The autocast of a `with`, if it surely casts: the call, and the type when it is known.
    pub fn autocast(&self, with: &'a StmtWith) -> Option<(&'a ExprCall, Option<Dtype>)> {
        with.items.iter().find_map(|item| {
            let call = self.resolve(&item.context_expr).as_call_expr()?;
            let name = self.callee(call)?;
            let old = name == "torch.cuda.amp.autocast";
            let cpu = name == "torch.cpu.amp.autocast";
            if !old && !cpu && !matches!(name, "torch.autocast" | "torch.amp.autocast") {
                return None;
            }
            let enabled = call.arguments.find_keyword("enabled").map(|k| &k.value).or(if old || cpu {
                call.arguments.find_positional(0)
            } else {
                None
            });
            if enabled.is_some_and(|e| !e.as_boolean_literal_expr().is_some_and(|b| b.value)) {
                return None;
            }
            let dtype = call.arguments.find_argument_value("dtype", 1);
            let on_cuda = old
                || call
                    .arguments
                    .find_argument_value("device_type", 0)
                    .is_some_and(|d| d.as_string_literal_expr().is_some_and(|s| s.value.to_str() == "cuda"));
            // On CUDA it casts to float16 unless told otherwise.
            let known = match dtype {
                Some(dtype) => self.dtype(dtype),
                None => on_cuda.then_some(Dtype::Half),
            };
            Some((call, known))
        })
    }

    /// The innermost `with …autocast…` around a node.
    pub fn autocast_around(&self, node: &(impl HasNodeIndex + ?Sized)) -> Option<&'a StmtWith> {
        self.ancestors_here(node).find_map(|ancestor| match ancestor {
            Node::Stmt(Stmt::With(with)) => self.autocast(with).map(|_| with),
            _ => None,
        })
    }
}
