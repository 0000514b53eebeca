//! ## What it finds
//!
//! A tensor that is made in host memory and at once copied to the GPU: `torch.ones(n, n).cuda()`. Not a few numbers, nor random
//! ones in a function that seeds the host's generator. Off unless selected: it costs time and host memory, not the GPU's.
//!
//! ## Why
//!
//! It is allocated twice and copied over the bus, and the program waits for the copy. The factory can make it on the GPU.
//!
//! ## Bad
//!
//! ```python
//! mask = torch.ones(n, n).cuda()
//! ```
//!
//! ## Good
//!
//! ```python
//! mask = torch.ones(n, n, device="cuda")
//! ```
//!
//! ## Fix
//!
//! Safe for `zeros`, `ones` and the like. Suggested for random tensors, whose numbers change with the device.
//!
//! ## References
//!
//! - PyTorch documentation, "Performance tuning guide": create tensors directly on the target device

use crate::facts::{Facts, Kind, Node, literal_number};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged, TextRange};
use crate::rule::{Default, Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D07",
    name: "create-then-move",
    severity: Severity::Note,
    default: Default::Off,
    fix: Safety::Sometimes,
    wants: &[Want::Named("cuda"), Want::Named("to")],
    check,
    ..Rule::DEFAULT
};

const PLAIN: &[&str] =
    &["torch.zeros", "torch.ones", "torch.full", "torch.empty", "torch.arange", "torch.eye", "torch.linspace"];
/// As many elements as this are not worth a word.
const FEW: u64 = 4096;
const RANDOM: &[&str] = &["torch.rand", "torch.randn", "torch.randint"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let Some(device) = device_of(facts, call) else { return };
    let Some((Expr::Call(factory), _)) = facts.method(call) else { return };
    let random = facts.calls_any(factory, RANDOM);
    let has_device =
        factory.arguments.keywords.iter().any(|k| k.arg.as_ref().is_none_or(|n| n == "device" || n == "generator"));
    if !(random || facts.calls_any(factory, PLAIN))
        || has_device
        || is_tiny(factory)
        || (random && is_seeded(facts, node))
    {
        return;
    }
    let edits = (!facts.parsed.has_comment(call.range())).then(|| {
        let rest = TextRange::new(factory.end(), call.end());
        vec![facts.add_argument(factory, &format!("device={device}")), Edit::delete(rest)]
    });
    sink.report(call, "made in host memory and then copied: the factory can make it on the device").fix_if(
        !random,
        "Give the device to the factory",
        edits,
    );
}

/// All sizes stand in the text and make few elements: `torch.zeros(1)`, `torch.randn(64, 20)`, `torch.full((8,), 1.0)`.
fn is_tiny(factory: &ExprCall) -> bool {
    let args = &factory.arguments.args[..];
    let sizes = args.iter().find_map(|arg| match arg {
        Expr::Tuple(tuple) => Some(&tuple.elts[..]),
        Expr::List(list) => Some(&list.elts[..]),
        _ => None,
    });
    let elements =
        sizes.unwrap_or(args).iter().map(literal_number).try_fold(1u64, |all, n| Some(all.saturating_mul(n?.max(1))));
    elements.is_some_and(|n| n <= FEW)
}

/// The function seeds the host's generator: the numbers shall not depend on the device.
fn is_seeded<'a>(facts: &Facts<'a>, node: Node<'a>) -> bool {
    let Some(function) = facts.function_of(&node) else { return false };
    facts.inside(function.stmt).filter_map(Node::call).any(|c| facts.calls(c, "torch.manual_seed"))
}

/// The device as an argument: `"cuda"` for `.cuda()`; nothing when something else is done with the move.
fn device_of<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<&'a str> {
    let (_, name) = facts.method(call)?;
    match (name, &call.arguments.args[..], &call.arguments.keywords[..]) {
        ("cuda", [], []) => Some("\"cuda\""),
        ("to", [device], []) if facts.is_gpu(device) || facts.is(device, Kind::Device) => Some(facts.text(device)),
        _ => None,
    }
}
