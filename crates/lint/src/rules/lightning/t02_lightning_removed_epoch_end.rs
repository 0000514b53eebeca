//! ## What it finds
//!
//! `training_epoch_end`, `validation_epoch_end` or `test_epoch_end` in a `LightningModule`.
//!
//! ## Why
//!
//! Lightning 2 removed these hooks, because they kept every output of the epoch in memory, and raises a NotImplementedError
//! at `fit` when a module has one. Projects that allow Lightning 1 are not reported.
//!
//! ## Bad
//!
//! ```python
//! class Net(L.LightningModule):
//!     def validation_epoch_end(self, outputs):
//!         self.log("mean", torch.stack(outputs).mean())
//! ```
//!
//! ## Good
//!
//! ```python
//! class Net(L.LightningModule):
//!     def on_validation_epoch_end(self):
//!         self.log("mean", torch.stack(self.outputs).mean())
//!         self.outputs.clear()
//! ```
//!
//! ## Fix
//!
//! None: the outputs have to be collected in the step.
//!
//! ## References
//!
//! - `lightning/pytorch/trainer/configuration_validator.py`
//! - Lightning-AI/pytorch-lightning#16520

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::{Ranged, Stmt};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "T02",
    name: "lightning-removed-epoch-end",
    severity: Severity::Error,
    wants: &[Want::Function],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(Stmt::FunctionDef(def)) = node.stmt() else { return };
    let name = def.name.as_str();
    if !matches!(name, "training_epoch_end" | "validation_epoch_end" | "test_epoch_end") {
        return;
    }
    let Some(class) = facts.function_defined_by(def).and_then(|id| facts.function(id).class) else { return };
    let lightning = facts.bases(class).contains(&"lightning.LightningModule");
    if !lightning || facts.project.allows_before("lightning", 2, 0) {
        return;
    }
    sink.report(
        def.name.range(),
        format!("Lightning 2 refuses a module with `{name}`: collect in the step, use `on_{}`", renamed(name)),
    );
}

fn renamed(name: &str) -> &str {
    if name == "training_epoch_end" { "train_epoch_end" } else { name }
}
