//! ## What it finds
//!
//! A model that is moved to the GPU and only then cast to a shorter type: `Net().cuda().half()`.
//!
//! ## Why
//!
//! The GPU holds the float32 weights first and both copies of a weight during the cast, and the emptied blocks stay with the
//! allocator: half of the reserved memory is not needed. Cast first, the GPU never sees the long type.
//!
//! ## Bad
//!
//! ```python
//! model = Net().cuda().half()
//! ```
//!
//! ## Good
//!
//! ```python
//! model = Net().half().cuda()
//! ```
//!
//! ## Fix
//!
//! Safe: the two calls change places.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.nn.Module.to`

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged, TextRange};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P10",
    name: "cast-after-move",
    severity: Severity::Warning,
    fix: Safety::Safe,
    wants: &[Want::Named("half"), Want::Named("bfloat16"), Want::Named("to")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some((owner, _)) = facts.cast(call).filter(|(_, dtype)| dtype.is_short()) else { return };
    let Some((moved, model)) = moved(facts, owner) else { return };
    if !is_only_cast(call) || !is_model(facts, model) || knows_its_type(facts, model) || facts.in_test(&node) {
        return;
    }
    let text = facts.source.text();
    let (to_gpu, to_short) =
        (&text[TextRange::new(model.end(), moved.end())], &text[TextRange::new(moved.end(), call.end())]);
    let range = TextRange::new(model.end(), call.end());
    let kept = !facts.parsed.has_comment(range);
    let message = format!(
        "the model goes to the GPU in float32 and is cast there: `{}` first, and it needs half the memory",
        to_short.trim()
    );
    sink.report(call, message).fix_if(
        true,
        "Cast before moving",
        kept.then(|| vec![Edit::replace(range, format!("{to_short}{to_gpu}"))]),
    );
}

/// `x.cuda()` or `x.to("cuda")`, and `x`.
fn moved<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Option<(&'a ExprCall, &'a Expr)> {
    let call = expr.as_call_expr()?;
    let (owner, name) = facts.method(call)?;
    let to_gpu = match name {
        "cuda" => true,
        "to" => facts.cast(call).is_none() && call.arguments.len() == 1 && !is_cpu(facts, call),
        _ => false,
    };
    to_gpu.then_some((call, owner))
}

fn is_cpu<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let Some(device) = call.arguments.args.first() else { return false };
    let text = facts.text(facts.resolve(device));
    text.contains("cpu") && !text.contains("cuda")
}

/// A module, or something fresh of a class that we do not know: tensors are made by functions.
fn is_model<'a>(facts: &Facts<'a>, expr: &'a Expr) -> bool {
    let fresh = || match expr {
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Name(name) if name.id.starts_with(|c: char| c.is_ascii_uppercase()))
        }
        _ => false,
    };
    let value = facts.value(expr);
    value.kind == Kind::Module || (!value.sure && fresh() && !facts.text(expr).contains("Tensor"))
}

/// The cast does nothing else: `.half()`, `.to(torch.float16)`.
fn is_only_cast(call: &ExprCall) -> bool {
    call.arguments.len() <= 1
}

/// Loaded in a type that was chosen, or in several bits at once.
fn knows_its_type<'a>(facts: &Facts<'a>, model: &'a Expr) -> bool {
    facts.constructors(model).into_iter().chain(facts.constructor(model)).any(|call| {
        call.arguments
            .keywords
            .iter()
            .any(|k| k.arg.as_ref().is_none_or(|name| name.contains("dtype") || name.starts_with("load_in")))
    })
}
