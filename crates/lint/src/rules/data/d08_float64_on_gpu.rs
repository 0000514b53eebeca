//! ## What it finds
//!
//! A NumPy array of the default type, float64, that goes to the GPU as it is.
//!
//! ## Why
//!
//! It takes twice the memory of float32, everything that is computed with it becomes float64 too, and most GPUs compute
//! float64 at a thirty-second of the speed or less.
//!
//! ## Bad
//!
//! ```python
//! x = torch.from_numpy(np.random.rand(1000, 1000)).cuda()
//! ```
//!
//! ## Good
//!
//! ```python
//! x = torch.from_numpy(np.random.rand(1000, 1000).astype(np.float32)).cuda()
//! ```
//!
//! ## Fix
//!
//! Suggested: `.float()` before the copy. Leave it where double precision is wanted.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.from_numpy`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D08",
    name: "float64-on-gpu",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Named("cuda"), Want::Named("to")],
    check,
    ..Rule::DEFAULT
};

const CONVERSIONS: &[&str] = &["torch.from_numpy", "torch.tensor", "torch.as_tensor"];

/// Give float64 when no type is named.
const DOUBLES: &[&str] = &[
    "numpy.random.rand",
    "numpy.random.randn",
    "numpy.random.random",
    "numpy.random.uniform",
    "numpy.random.normal",
    "numpy.zeros",
    "numpy.ones",
    "numpy.empty",
    "numpy.linspace",
];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let Some(Expr::Call(conversion)) = facts.sent_to_gpu(call).map(|sent| facts.resolve(sent)) else { return };
    let plain = call.arguments.len() <= 1 && conversion.arguments.len() == 1;
    if !plain || !facts.calls_any(conversion, CONVERSIONS) || is_cast_later(facts, call) {
        return;
    }
    let Some(array) = conversion.arguments.args.first() else { return };
    if facts.origin(array).and_then(Expr::as_call_expr).is_some_and(|made| is_double(facts, made)) {
        sink.report(call, "NumPy's default is float64: twice the memory of float32 on the GPU, and much slower")
            .suggest("Make it float32 first", [Edit::insert(conversion.end(), ".float()")]);
    }
}

fn is_double<'a>(facts: &Facts<'a>, made: &'a ExprCall) -> bool {
    if let Some((_, "astype")) = facts.method(made) {
        return made.arguments.args.first().is_some_and(|t| is_double_type(facts, t));
    }
    let typed = made.arguments.find_argument_value("dtype", 1);
    let random = facts.callee(made).is_some_and(|name| name.starts_with("numpy.random."));
    facts.calls_any(made, DOUBLES)
        && (random
            || typed.is_none()
            || facts.calls(made, "numpy.linspace") && made.arguments.find_keyword("dtype").is_none())
}

/// `float`, `"float64"`, `np.float64`
fn is_double_type<'a>(facts: &Facts<'a>, named: &'a Expr) -> bool {
    matches!(facts.qualified(named), Some("numpy.float64" | "numpy.double"))
        || matches!(facts.text(named), "float" | "\"float64\"" | "'float64'" | "\"double\"")
}

/// `….cuda().float()`
fn is_cast_later<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.ancestors_here(call).map_while(Node::expr).any(|e| match e {
        Expr::Call(outer) => {
            matches!(facts.called_name(outer), Some("float" | "half" | "bfloat16" | "to" | "type" | "long" | "int"))
        }
        _ => false,
    })
}
