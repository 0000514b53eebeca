//! Which device a value is sent to, and which parameters an optimizer owns.

use super::library::KEEPS_MODULE;
use super::{Facts, Kind, Node};
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};

/// Methods of tensors that give another view or copy of the same; those of modules are [`KEEPS_MODULE`].
const KEEPS_TENSOR: &[&str] =
    &["detach", "clone", "contiguous", "unsqueeze", "squeeze", "view", "reshape", "permute", "type", "long"];

/// A tensor or module that is where its owner is, unless the call itself says otherwise.
fn stays(method: &str) -> bool {
    KEEPS_MODULE.contains(&method) || KEEPS_TENSOR.contains(&method)
}

impl<'a> Facts<'a> {
    /// `x` in `x.cuda()`, `x.to("cuda")` and `x.to(device)`, unless the device is known to be the CPU.
    pub fn sent_to_gpu(&self, call: &'a ExprCall) -> Option<&'a Expr> {
        let (owner, name) = self.method(call)?;
        match name {
            "cuda" => Some(owner),
            "to" => {
                let keyword = call.arguments.find_keyword("device").map(|k| &k.value);
                let device = keyword.or_else(|| call.arguments.args.first())?;
                self.is_gpu(device).then_some(owner)
            }
            _ => None,
        }
    }

    /// A device that is, or may be, a GPU: `"cuda:0"`, `torch.device("cuda")`, `device`, `x.device`.
    pub fn is_gpu(&self, device: &'a Expr) -> bool {
        let known = self.resolve(device);
        let text = self.text(known);
        if text.contains("cuda") {
            return true;
        }
        if text.contains("cpu") || known.is_string_literal_expr() {
            return false;
        }
        let name = match device {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return self.kind(device) == Kind::Device,
        };
        self.kind(device) == Kind::Device || matches!(name, "device" | "dev" | "_device")
    }

    /// A GPU by its name: `.cuda()`, `.to("cuda")`, or a device that was set so further up.
    pub fn surely_sent_to_gpu(&self, call: &'a ExprCall) -> bool {
        match self.method(call) {
            Some((_, "cuda")) => true,
            Some((_, "to")) => {
                call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|k| &k.value)).any(|a| {
                    let text = self.text(self.resolve(a));
                    text.contains("cuda") && !text.contains("cpu")
                })
            }
            _ => false,
        }
    }

    /// The call that sends a value to the GPU, in the chain of calls that made it: `Net().cuda().eval()`.
    pub fn gpu_move_in(&self, expr: &'a Expr) -> Option<&'a ExprCall> {
        let mut current = expr;
        for _ in 0..16 {
            let call = current.as_call_expr()?;
            if self.sent_to_gpu(call).is_some() {
                return Some(call);
            }
            let (owner, name) = self.method(call)?;
            if name == "cpu" || !stays(name) {
                return None;
            }
            current = owner;
        }
        None
    }

    /// The constructor of the optimizer that is given `module.parameters()`.
    pub fn optimizer_for(&self, module: &'a Expr) -> Option<&'a ExprCall> {
        self.tree().all().iter().filter_map(|n| n.call()).find(|call| {
            self.callee(call).is_some()
                && self.builds_optimizer(call)
                && self.inside(*call).filter_map(Node::call).any(|c| self.gives_parameters_of(c, module))
        })
    }

    /// Whether a call constructs an optimizer of a library.
    pub fn builds_optimizer(&self, call: &'a ExprCall) -> bool {
        self.callee(call).is_some() && self.call_value(call).kind == Kind::Optimizer
    }

    /// `module.parameters()` or `module.named_parameters()` of this module.
    pub fn gives_parameters_of(&self, call: &'a ExprCall, module: &'a Expr) -> bool {
        match self.method(call) {
            Some((owner, "parameters" | "named_parameters")) => self.same_place(owner, module),
            _ => false,
        }
    }

    /// Whether the parameters of a module are frozen somewhere in this file, in whatever way, or its name says so.
    pub fn is_frozen_somehow(&self, module: &'a Expr) -> bool {
        self.is_frozen(module)
            || self.tree().all().iter().any(|node| match node {
                Node::Stmt(Stmt::For(each)) => self.freezes_each(each, module),
                Node::Expr(Expr::Call(call)) => {
                    self.called_name(call).is_some_and(|name| name.contains("freeze") || name.contains("requires_grad"))
                        && (call.arguments.args.iter().any(|a| self.same_place(a, module))
                            || self.method(call).is_some_and(|(owner, _)| self.same_place(owner, module)))
                }
                _ => false,
            })
    }

    /// `for p in module.parameters(): p.requires_grad = False`, also over several modules chained.
    fn freezes_each(&self, each: &'a crate::parse::ast::StmtFor, module: &'a Expr) -> bool {
        let over = self.inside(&*each.iter).filter_map(Node::call).any(|c| self.gives_parameters_of(c, module));
        over && each.body.iter().any(|stmt| self.text(stmt).contains("requires_grad"))
    }
}
