//! ## What it finds
//!
//! `functools.lru_cache` or `functools.cache` on a function that makes tensors.
//!
//! ## Why
//!
//! The cache keeps every result, one for each set of arguments, and on a method also the module itself with its parameters. None
//! of it is given back while the program runs.
//!
//! ## Bad
//!
//! ```python
//! class Net(nn.Module):
//!     @functools.lru_cache(maxsize=None)
//!     def mask(self, n):
//!         return torch.ones(n, n, device="cuda").tril()
//! ```
//!
//! ## Good
//!
//! ```python
//! class Net(nn.Module):
//!     def mask(self, n):
//!         if self._mask is None or self._mask.size(0) < n:
//!             self._mask = torch.ones(n, n, device="cuda").tril()
//!         return self._mask[:n, :n]
//! ```
//!
//! ## Fix
//!
//! None: keep the largest one in an attribute, or give the cache a small `maxsize`.
//!
//! ## References
//!
//! - Python documentation, `functools.lru_cache`
//! - ruff, `cached-instance-method` (B019)

use crate::facts::{Facts, Function, Kind, Node, literal_number};
use crate::parse::ast::StmtFunctionDef;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule =
    Rule { code: "L15", name: "cached-tensor-method", wants: &[Want::Function], check, ..Rule::DEFAULT };

/// A cache of this many results is not worth a word.
const FEW: u64 = 4;

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(Stmt::FunctionDef(def)) = node else { return };
    let Some(cache) = cache_of(facts, def).filter(|_| !facts.in_test(&node)) else { return };
    let Some(function) = facts.function_defined_by(def).map(|id| facts.function(id)) else { return };
    if !function.returns.iter().any(|value| is_device_tensor(facts, value)) || has_few_keys(facts, def) {
        return;
    }
    let method = is_module_method(facts, function);
    let what = if method { "every tensor that it made, and the module itself" } else { "every tensor that it made" };
    sink.report(cache, format!("the cache of `{}` keeps {what} while the program runs", def.name));
}

/// The decorator, unless its `maxsize` is small.
fn cache_of<'a>(facts: &Facts<'a>, def: &'a StmtFunctionDef) -> Option<&'a Expr> {
    def.decorator_list.iter().map(|d| &d.expression).find(|decorator| {
        let (target, size) = match decorator {
            Expr::Call(call) => (&*call.func, call.arguments.find_argument_value("maxsize", 0)),
            other => (*other, None),
        };
        let small = size.and_then(literal_number).is_some_and(|n| n <= FEW);
        !small && matches!(facts.qualified(target), Some("functools.lru_cache" | "functools.cache"))
    })
}

/// Every argument is of a type with few values: a name, a dtype, a device, a flag.
fn has_few_keys<'a>(facts: &Facts<'a>, def: &'a StmtFunctionDef) -> bool {
    let few = |annotation: &'a Expr| {
        matches!(facts.text(annotation), "str" | "bool")
            || matches!(facts.qualified(annotation), Some("torch.dtype" | "torch.device"))
    };
    let named = |name: &str| matches!(name, "device" | "dtype");
    def.parameters.iter().next().is_some()
        && def.parameters.iter().all(|p| named(p.name()) || p.annotation().is_some_and(few))
}

fn is_module_method(facts: &Facts<'_>, function: &Function<'_>) -> bool {
    function.class.is_some_and(|class| facts.class_kind(class).is_module())
}

/// A tensor that is made with a device, or moved to one.
fn is_device_tensor<'a>(facts: &Facts<'a>, value: &'a Expr) -> bool {
    let made = facts.resolve(value);
    facts.is(value, Kind::Tensor)
        && facts.inside(made).filter_map(Node::call).any(|call| {
            call.arguments.find_keyword("device").is_some() || matches!(facts.called_name(call), Some("cuda" | "to"))
        })
}
