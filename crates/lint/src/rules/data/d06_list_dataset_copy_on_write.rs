//! ## What it finds
//!
//! A dataset that keeps what a JSON or pickle file held as Python lists and dicts. Off unless selected.
//!
//! ## Why
//!
//! Every worker process that touches a Python object writes its reference count and so copies the page that it lies on: host
//! memory grows to one copy for each worker. When the machine runs out, it kills the training, which looks like a GPU fault.
//!
//! ## Bad
//!
//! ```python
//! class DS(Dataset):
//!     def __init__(self, p):
//!         self.items = json.load(open(p))
//! ```
//!
//! ## Good
//!
//! ```python
//! class DS(Dataset):
//!     def __init__(self, p):
//!         self.items = np.array(json.load(open(p)), dtype=np.bytes_)
//! ```
//!
//! ## Fix
//!
//! None: how to pack the data depends on it.
//!
//! ## References
//!
//! - pytorch/pytorch#13246

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::{Expr, Stmt};
use crate::rule::{Default, Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D06",
    name: "list-dataset-copy-on-write",
    severity: Severity::Note,
    default: Default::Off,
    wants: &[Want::Call("json.load"), Want::Call("json.loads"), Want::Call("pickle.load")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let Some(class) = facts.class_of(call).filter(|class| facts.class_kind(*class) == Kind::Dataset) else { return };
    let Stmt::Assign(assign) = facts.statement(call) else { return };
    let [Expr::Attribute(target)] = &assign.targets[..] else { return };
    if std::ptr::eq(call, assign.value.as_call_expr().unwrap_or(call)) && facts.self_class(&target.value) == Some(class)
    {
        sink.report(call, "each worker process makes its own copy of these Python objects as it reads them: host memory grows with the workers");
    }
}
