//! Where no GPU memory is at stake: modules that lie in host memory, and branches that no GPU runs.

use super::library::KEEPS_MODULE;
use super::scope::Set;
use super::{Facts, Kind, Node};
use crate::parse::ast::{ExprCall, UnaryOp};
use crate::parse::{Expr, HasNodeIndex, Stmt};

/// Calls that leave a module where it is.
const HARMLESS: &[&str] = &["print", "len", "isinstance", "type", "repr", "str", "id", "deepcopy", "save"];

impl<'a> Facts<'a> {
    /// Whether a module surely lies in host memory where it is used: a class of this file or of torch made it, and nothing
    /// has sent it, or could have sent it, elsewhere since.
    pub fn is_on_host(&self, module: &'a Expr) -> bool {
        let [def] = self.defs(module)[..] else { return false };
        // Across functions the order of lines is not the order of execution.
        if !module.is_name_expr() || self.function_id(&self.def_node(def)) != self.function_id(module) {
            return false;
        }
        let Set::Assign { value, path } = &self.def(def).set else { return false };
        if !path.is_whole() || self.mentions("torch.set_default_device") || self.says(&["set_default_tensor_type"]) {
            return false;
        }
        let Some(mut on_host) = self.made_on_host(value) else { return false };
        for used in self.uses(def).into_iter().filter(|used| self.before(*used, module)) {
            on_host = self.moved_by_use(used).unwrap_or(on_host);
        }
        on_host
    }

    /// Whether a constructor leaves the module in host memory; nothing when it is not known.
    fn made_on_host(&self, made: &'a Expr) -> Option<bool> {
        let call = made.as_call_expr()?;
        if self.sent_to_gpu(call).is_some() {
            return Some(false);
        }
        if self.callee(call).is_none()
            && let Some((owner, name)) = self.method(call)
            && KEEPS_MODULE.contains(&name)
        {
            return if name == "cpu" { Some(true) } else { self.made_on_host(owner) };
        }
        let _guard = self.descend()?;
        if let Kind::Function(function) = self.kind(&call.func) {
            let returns = &self.function(function).returns;
            let stays = returns.iter().all(|r| self.made_on_host(r) == Some(true) || self.is_on_host(r));
            return (stays && !returns.is_empty()).then_some(true);
        }
        let mut given = call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|k| &k.value));
        let known = match self.callee(call) {
            Some(name) => name.starts_with("torch.nn.") && !super::library::passes_through(name),
            None => self.is_plain_class(call),
        };
        (known && !given.any(|argument| self.is_gpu(argument))).then_some(true)
    }

    /// A class of this file whose `__init__` sends nothing anywhere.
    fn is_plain_class(&self, call: &'a ExprCall) -> bool {
        let Kind::Class(class) = self.kind(&call.func) else { return false };
        let Some(init) = self.method_of(class, "__init__") else { return true };
        !self.inside(self.function(init).stmt).filter_map(Node::call).any(|c| self.sent_to_gpu(c).is_some())
    }

    /// Where a use of a module takes it: to host memory, or away from it, as far as anybody knows. Nothing when it stays.
    fn moved_by_use(&self, used: &'a Expr) -> Option<bool> {
        match self.parent(used)? {
            Node::Expr(Expr::Attribute(_)) => {
                let call = self.parent(&self.parent(used)?).and_then(Node::call)?;
                match self.method(call) {
                    _ if self.sent_to_gpu(call).is_some() => Some(false),
                    Some((_, "cpu")) => Some(true),
                    Some((_, "to")) if self.text(&call.arguments).contains("cpu") => Some(true),
                    _ => None,
                }
            }
            Node::Expr(Expr::Call(call)) if std::ptr::eq(&*call.func, used) => None,
            Node::Expr(Expr::Call(call)) => {
                let harmless = self.called_name(call).is_some_and(|name| HARMLESS.contains(&name));
                (!harmless).then_some(false)
            }
            // Another name for it.
            Node::Stmt(Stmt::Assign(assign)) if std::ptr::eq(&*assign.value, used) => {
                let _guard = self.descend()?;
                let [target @ Expr::Name(_)] = &assign.targets[..] else { return Some(false) };
                let uses = self.uses(self.defined_by(target)?);
                uses.into_iter().any(|alias| self.moved_by_use(alias) == Some(false)).then_some(false)
            }
            Node::Stmt(Stmt::Expr(_) | Stmt::Return(_)) => None,
            _ => Some(false),
        }
    }

    /// Whether a node stands in a branch that no GPU runs: `else` of `if torch.cuda.is_available():`, or one that is
    /// switched off by a constant of its own function.
    pub fn runs_on_no_gpu(&self, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        let id = self.id(node);
        let holds = |body: &[Stmt]| body.iter().any(|stmt| self.tree().contains(self.id(stmt), id));
        self.ancestors(node).any(|ancestor| {
            let Node::Stmt(Stmt::If(stmt)) = ancestor else { return false };
            if holds(&stmt.body) {
                self.is_switched_off(&stmt.test) || self.asks_for_no_gpu(&stmt.test)
            } else {
                self.asks_for_gpu(&stmt.test) && stmt.elif_else_clauses.iter().any(|clause| holds(&clause.body))
            }
        })
    }

    fn asks_for_gpu(&self, test: &'a Expr) -> bool {
        let test = self.resolve(test);
        test.as_call_expr().is_some_and(|call| self.calls(call, "torch.cuda.is_available"))
    }

    fn asks_for_no_gpu(&self, test: &'a Expr) -> bool {
        matches!(test, Expr::UnaryOp(not) if not.op == UnaryOp::Not && self.asks_for_gpu(&not.operand))
    }

    /// `if False:`, or a name that the same function sets to `False`; a constant of the file is there to be changed.
    fn is_switched_off(&self, test: &'a Expr) -> bool {
        let off = self.resolve(test);
        let is_own = std::ptr::eq(off, test)
            || (self.function_id(test).is_some() && self.function_id(off) == self.function_id(test));
        is_own && off.as_boolean_literal_expr().is_some_and(|literal| !literal.value)
    }
}
