//! ## What it finds
//!
//! `torch.backends.cudnn.benchmark = True` in a file that runs a model on single inputs of unknown, probably different sizes.
//! Off by default: that the sizes differ is a guess.
//!
//! ## Why
//!
//! For each new shape cuDNN tries all algorithms, some with large workspaces: deeplab-pytorch needed 12.7 GB with it and 4.7
//! without. The search pays only when shapes repeat.
//!
//! ## Bad
//!
//! ```python
//! torch.backends.cudnn.benchmark = True
//! for img in images_of_many_sizes:
//!     model(img)
//! ```
//!
//! ## Good
//!
//! ```python
//! torch.backends.cudnn.benchmark = False
//! for img in images_of_many_sizes:
//!     model(img)
//! ```
//!
//! ## Fix
//!
//! Suggested: `False`.
//!
//! ## References
//!
//! - pytorch/pytorch#2759, kazuto1011/deeplab-pytorch#74

use crate::facts::{Facts, Kind, Loop, Node, Set};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Default, Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O11",
    name: "cudnn-benchmark-variable-shapes",
    severity: Severity::Note,
    default: Default::Off,
    fix: Safety::Unsafe,
    wants: &[Want::Attribute("benchmark")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(target) = node.expr().filter(|e| facts.qualified(e) == Some("torch.backends.cudnn.benchmark")) else {
        return;
    };
    let Some(Node::Stmt(Stmt::Assign(assign))) = facts.parent(target) else { return };
    let on = assign.value.as_boolean_literal_expr().is_some_and(|b| b.value);
    if !on || !sizes_differ(facts) || facts.in_test(&node) {
        return;
    }
    sink.report(
        assign,
        "the inputs seem to differ in size: cuDNN tries all algorithms for each, with large workspaces",
    )
    .suggest("Switch the search off", [Edit::replace(assign.value.range(), "False")]);
}

/// A detection model, transforms of random size, or a model that is run on the elements of a list one by one.
fn sizes_differ(facts: &Facts<'_>) -> bool {
    facts.mentions("torchvision.models.detection")
        || facts.tree().all().iter().filter_map(|n| n.call()).any(|call| {
            let random = matches!(facts.called_name(call), Some("RandomResize" | "RandomShortestSize" | "ScaleJitter"));
            let single =
                facts.is(&call.func, Kind::Module) && call.arguments.args.first().is_some_and(|a| is_single(facts, a));
            random || single
        })
}

/// What a `for` over something other than a loader or numbers yields, as it is.
fn is_single<'a>(facts: &Facts<'a>, argument: &'a Expr) -> bool {
    let Some(Loop::For(stmt)) = facts.loop_of(argument) else { return false };
    let over = facts.turns(&stmt.iter).over;
    let plain = over.is_name_expr()
        && !matches!(facts.kind(over), Kind::Loader | Kind::Number | Kind::Parameters | Kind::Batch);
    let each = facts
        .defs(argument)
        .iter()
        .all(|def| matches!(&facts.def(*def).set, Set::Each { path, .. } if path.is_whole()));
    argument.is_name_expr() && plain && each && !facts.text(over).to_ascii_lowercase().contains("batch")
}
