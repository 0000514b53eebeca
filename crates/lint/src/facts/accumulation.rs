//! Gradient accumulation: steps that are taken only every few batches, and the test that decides.

use super::Facts;
use super::events::{Event, EventKind, Guard};
use super::loops::Loop;
use super::scope::Set;
use super::tree::Node;
use crate::parse::Expr;
use crate::parse::ast::{BoolOp, CmpOp, Operator, StmtFor, StmtIf};

/// A step that a `%` test allows, in a loop that calls `backward` on every turn.
pub struct Accumulation<'a> {
    pub around: Loop<'a>,
    pub step: Event<'a>,
    pub backward: Event<'a>,
    /// The `if` around the step.
    pub guard: &'a StmtIf,
    pub test: &'a Expr,
    /// `i + 1` of `(i + 1) % accum`.
    pub dividend: &'a Expr,
    /// `accum`.
    pub divisor: &'a Expr,
}

impl<'a> Facts<'a> {
    /// The accumulated steps of a loop's turn.
    pub fn accumulations(&self, around: Loop<'a>) -> Vec<Accumulation<'a>> {
        let events = self.events(&around);
        let is_step = |e: &&Event<'a>| matches!(e.kind, EventKind::Step | EventKind::ScalerStep) && e.happens_here();
        events.iter().filter(is_step).filter_map(|step| self.accumulation(around, &events, step)).collect()
    }

    fn accumulation(&self, around: Loop<'a>, events: &[Event<'a>], step: &Event<'a>) -> Option<Accumulation<'a>> {
        if step.guards.iter().any(|guard| !matches!(guard, Guard::If { .. })) {
            return None;
        }
        let (guard, test, (dividend, divisor)) = step.guards.iter().find_map(|guard| match guard {
            Guard::If { stmt, test: Some(test) } => self.modulus(test).map(|parts| (*stmt, *test, parts)),
            _ => None,
        })?;
        let backwards = || events.iter().filter(|e| e.kind == EventKind::Backward);
        // A loss of its own under the test: a generator that is trained less often, not accumulation.
        if backwards().any(|e| self.contains(guard, e.call)) {
            return None;
        }
        let here = |e: &&Event<'a>| e.happens_here() && e.guards.iter().all(|g| matches!(g, Guard::If { .. }));
        let backward = backwards().filter(here).find(|e| self.before(e.call, step.call))?;
        let (step, backward) = (step.clone(), backward.clone());
        Some(Accumulation { around, step, backward, guard, test, dividend, divisor })
    }

    /// Whether a name is the index that `enumerate` counts in this loop, from 0.
    pub fn is_turn_index(&self, expr: &'a Expr, around: Loop<'a>) -> bool {
        let Loop::For(stmt) = around else { return false };
        if !expr.is_name_expr() || self.turns(&stmt.iter).counted != Some(Some(0)) {
            return false;
        }
        let defs = self.defs(expr);
        !defs.is_empty()
            && defs.iter().all(|def| match &self.def(*def).set {
                Set::Each { iter, path } => std::ptr::eq(*iter, &*stmt.iter) && path.first() == Some(0),
                _ => false,
            })
    }

    /// Whether a name is set by this loop's own target.
    pub fn is_target_of(&self, name: &'a Expr, stmt: &'a StmtFor) -> bool {
        let defs = self.defs(name);
        !defs.is_empty()
            && defs
                .iter()
                .all(|def| matches!(&self.def(*def).set, Set::Each { iter, .. } if std::ptr::eq(*iter, &*stmt.iter)))
    }

    /// The number 1, or a name that is set to it.
    pub fn literal_one(&self, expr: &'a Expr) -> bool {
        super::literal_number(self.resolve(expr)) == Some(1)
    }

    /// Whether an expression, or what it was set to, is a division.
    pub fn is_quotient(&self, expr: &'a Expr) -> bool {
        let is_div = |e: &Expr| matches!(e, Expr::BinOp(op) if op.op == Operator::Div);
        is_div(expr) || self.origins(expr).into_iter().any(is_div)
    }

    /// Whether the file sums losses (`reduction="sum"`), so that somebody has to divide by the count.
    pub fn mentions_reduction_sum(&self) -> bool {
        self.tree.all().iter().filter_map(|n| n.call()).any(|call| {
            call.arguments
                .find_keyword("reduction")
                .is_some_and(|k| matches!(&k.value, Expr::StringLiteral(s) if s.value.to_str() == "sum"))
        })
    }

    /// `x % n == 0` or `not x % n`, and nothing else.
    pub fn is_pure_modulus(&self, test: &'a Expr) -> bool {
        match test {
            Expr::Compare(compare) => {
                let is_mod = matches!(&*compare.left, Expr::BinOp(op) if op.op == Operator::Mod);
                is_mod && compare.ops.len() == 1 && compare.ops[0] == CmpOp::Eq
            }
            Expr::UnaryOp(op) => matches!(&*op.operand, Expr::BinOp(op) if op.op == Operator::Mod),
            _ => false,
        }
    }

    /// `x % n == 0`, `not x % n`, or one of those with `or`.
    pub fn steps_at_zero(&self, test: &'a Expr, dividend: &'a Expr) -> bool {
        match test {
            Expr::BoolOp(op) if op.op == BoolOp::Or => {
                op.values.iter().any(|value| self.steps_at_zero(value, dividend))
            }
            Expr::Compare(compare) => {
                let is_mod = self.contains(&*compare.left, dividend) && compare.left.is_bin_op_expr();
                is_mod && compare.ops[..] == [CmpOp::Eq] && super::literal_number(&compare.comparators[0]) == Some(0)
            }
            Expr::UnaryOp(_) => self.is_pure_modulus(test),
            _ => false,
        }
    }

    /// Whether some node of this subtree divides by an expression that is written like this one.
    pub fn divides_by(&self, nodes: impl Iterator<Item = Node<'a>>, divisor: &'a Expr) -> bool {
        let name = last_name(self.text(divisor));
        let is_it = |expr: &'a Expr| self.text(expr).contains(name);
        nodes.into_iter().any(|node| match node {
            Node::Expr(Expr::BinOp(op)) => op.op == Operator::Div && is_it(&op.right),
            Node::Stmt(crate::parse::Stmt::AugAssign(stmt)) => stmt.op == Operator::Div && is_it(&stmt.value),
            Node::Expr(Expr::Call(call)) => {
                matches!(self.called_name(call), Some("div" | "div_" | "true_divide" | "mul" | "mul_"))
                    && call.arguments.args.iter().any(is_it)
            }
            _ => false,
        })
    }
}

/// `gradient_accumulation_steps` of `self.args.gradient_accumulation_steps`.
fn last_name(text: &str) -> &str {
    text.rsplit('.').next().unwrap_or(text)
}
