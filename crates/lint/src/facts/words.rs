//! Words in the code: names, attributes, keywords and texts that are used. Comments and docstrings do not count.

use super::tree::Node;
use super::{Facts, Function};
use crate::parse::{Expr, Stmt};

impl<'a> Facts<'a> {
    /// Whether one of these words is part of something that the file's code says.
    pub fn says(&self, words: &[&str]) -> bool {
        self.tree().all().iter().any(|node| self.node_says(*node, words))
    }

    /// Whether one of these words is part of something that a function's code says; of the file's, outside of functions.
    pub fn says_in(&self, function: Option<&Function<'a>>, words: &[&str]) -> bool {
        match function {
            Some(function) => self.inside(function.stmt).any(|node| self.node_says(node, words)),
            None => self.says(words),
        }
    }

    /// Whether an attribute of this name is read or set anywhere: `args.eval_accumulation_steps = 4`.
    pub fn has_attribute(&self, name: &str) -> bool {
        let is_it = |node: &Node<'a>| matches!(node, Node::Expr(Expr::Attribute(a)) if a.attr.as_str() == name);
        self.tree().all().iter().any(is_it)
    }

    fn node_says(&self, node: Node<'a>, words: &[&str]) -> bool {
        let has = |text: &str| words.iter().any(|word| text.contains(word));
        match node {
            Node::Expr(Expr::Name(name)) => has(&name.id),
            Node::Expr(Expr::Attribute(attribute)) => has(&attribute.attr),
            Node::Expr(Expr::Call(call)) => {
                call.arguments.keywords.iter().filter_map(|k| k.arg.as_ref()).any(|a| has(a))
            }
            Node::Expr(expr @ Expr::StringLiteral(text)) => has(text.value.to_str()) && !self.is_docstring(expr),
            Node::Stmt(Stmt::ImportFrom(import)) => import.names.iter().any(|alias| has(&alias.name)),
            _ => false,
        }
    }

    /// A text that stands alone.
    fn is_docstring(&self, text: &'a Expr) -> bool {
        matches!(self.parent(text), Some(Node::Stmt(Stmt::Expr(_))))
    }
}
