//! Environment variables that a file sets, whatever language it is in.

use super::lines::LineFormat;
use crate::facts::{Facts, Node};
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged, Stmt, TextRange, TextSize};

/// `NAME=value` in some file.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'t> {
    pub name: &'t str,
    /// The literal value, without quotes. Computed values are not settings.
    pub value: &'t str,
    /// The statement or the assignment.
    pub range: TextRange,
    /// The value, inside its quotes.
    pub value_range: TextRange,
    pub setter: Setter,
    /// The whole file.
    pub text: &'t str,
}

/// Who sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setter {
    /// `os.environ[…] = …` and the like.
    Python,
    Lines(LineFormat),
}

impl<'a> Facts<'a> {
    /// The environment variables that this Python file sets to literal values, in order.
    pub fn settings(&self) -> Vec<Setting<'a>> {
        let text = self.source.text().as_bytes();
        if ["environ", "putenv"].iter().all(|word| memchr::memmem::find(text, word.as_bytes()).is_none()) {
            return Vec::new();
        }
        self.tree().all().iter().filter_map(|node| self.setting_of(*node)).collect()
    }

    /// The environment variable that a node sets: an assignment to `os.environ[…]`, or a call that does it.
    pub fn setting_of(&self, node: Node<'a>) -> Option<Setting<'a>> {
        let (name, value) = match node {
            Node::Stmt(Stmt::Assign(assign)) => match assign.targets.first()? {
                Expr::Subscript(target) if self.qualified(&target.value) == Some("os.environ") => {
                    (&*target.slice, &*assign.value)
                }
                _ => return None,
            },
            Node::Expr(Expr::Call(call)) => self.setting_call(call)?,
            _ => return None,
        };
        let name = single_string(name)?;
        let value = single_string(value)?;
        let text = self.source.text();
        let setting = Setting {
            name: &text[name],
            value: &text[value],
            range: node.range(),
            value_range: value,
            setter: Setter::Python,
            text,
        };
        Some(setting)
    }

    fn setting_call(&self, call: &'a ExprCall) -> Option<(&'a Expr, &'a Expr)> {
        if !self.calls_any(call, &["os.putenv", "os.environ.setdefault", "os.environ.__setitem__"]) {
            return None;
        }
        Some((call.arguments.find_positional(0)?, call.arguments.find_positional(1)?))
    }
}

/// The inside of a plain, one-part string literal.
fn single_string(expr: &Expr) -> Option<TextRange> {
    let literal = expr.as_string_literal_expr()?;
    let [part] = literal.value.as_slice() else { return None };
    use crate::parse::ast::StringFlags;
    use crate::parse::ast::str_prefix::StringLiteralPrefix;
    let quotes = TextSize::new(if part.flags.is_triple_quoted() { 3 } else { 1 });
    let prefix = TextSize::new(if part.flags.prefix() == StringLiteralPrefix::Empty { 0 } else { 1 });
    Some(TextRange::new(part.range().start() + prefix + quotes, part.range().end() - quotes))
}
