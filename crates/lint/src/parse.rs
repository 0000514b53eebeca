//! The only module that knows the parser: text in, a syntax tree with its tokens and errors out.
//!
//! The tree's types are re-exported from here, so that an update of the parser is felt in one place. Parsing itself
//! grows the stack as it needs; dropping a very deep tree does not, which is what [`Parsed::forget`] is for.

use std::borrow::Cow;

use ruff_python_ast::token::{TokenKind, Tokens};
use ruff_python_ast::{ModModule, PySourceType};
use ruff_python_parser as parser;

pub use ruff_python_ast as ast;
pub use ruff_python_ast::{Expr, HasNodeIndex, Stmt};
pub use ruff_text_size::{Ranged, TextRange, TextSize};

/// A parsed file.
pub struct Parsed {
    module: parser::Parsed<ModModule>,
}

/// Why a file is not Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    pub range: TextRange,
    pub message: String,
}

/// Parses a script.
pub fn script(text: &str) -> Parsed {
    Parsed { module: parser::parse_unchecked_source(text, PySourceType::Python) }
}

/// Parses the cells of a notebook, one after the other, each valid by itself. Magics are understood.
///
/// Cells must be in order and separated by one line break each. Those that are not wanted are passed over.
pub fn cells(text: &str, cells: impl IntoIterator<Item = (TextRange, bool)>) -> Parsed {
    let options = parser::ParseOptions::from(PySourceType::Ipynb);
    let (all, wanted): (Vec<TextRange>, Vec<bool>) = cells.into_iter().unzip();
    let unwanted: Vec<TextRange> =
        all.iter().zip(wanted).filter(|(_, wanted)| !wanted).map(|(cell, _)| *cell).collect();
    // The parser insists upon cells that follow one another: the unwanted ones are made of empty lines.
    let text = if unwanted.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(emptied(text, &unwanted)) };
    Parsed { module: parser::parse_cells_unchecked(&text, all, &options) }
}

fn emptied(text: &str, ranges: &[TextRange]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = TextSize::new(0);
    for range in ranges {
        out.push_str(&text[TextRange::new(done, range.start())]);
        out.extend(std::iter::repeat_n('\n', range.len().to_usize()));
        done = range.end();
    }
    out.push_str(&text[done.to_usize()..]);
    out
}

impl Parsed {
    /// The statements of the file.
    pub fn body(&self) -> &[Stmt] {
        &self.module.syntax().body
    }

    /// What does not parse, in order.
    pub fn errors(&self) -> impl Iterator<Item = SyntaxError> + '_ {
        self.module.errors().iter().map(|e| SyntaxError { range: e.range(), message: e.error.to_string() })
    }

    pub fn has_errors(&self) -> bool {
        !self.module.errors().is_empty()
    }

    /// Where the comments are, in order.
    pub fn comments(&self) -> impl Iterator<Item = TextRange> + '_ {
        self.module.tokens().iter().filter(|t| t.kind() == TokenKind::Comment).map(Ranged::range)
    }

    /// Strings that go over several lines: their inner lines must not be re-indented.
    pub fn multiline_strings(&self, text: &str, within: TextRange) -> bool {
        self.module.tokens().in_range(whole_tokens(self.tokens(), within)).iter().any(|token| {
            is_string(token.kind()) && memchr::memchr2(b'\n', b'\r', text[token.range()].as_bytes()).is_some()
        })
    }

    /// Whether a comment starts inside this range.
    pub fn has_comment(&self, within: TextRange) -> bool {
        self.comments().any(|comment| within.contains(comment.start()))
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        self.module.tokens()
    }

    /// Drops the tree, or gives it up when the text could have nested it too deeply to be dropped.
    pub(crate) fn forget_if_deep(self, source: &crate::source::Source) {
        if could_nest_deeply(source.text()) {
            self.forget();
        }
    }

    /// Gives the tree up without walking it: a tree nested a hundred thousand deep would overflow the stack when dropped.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

/// Whether one line of a text is so long, or so many brackets are open in it, that its tree may be thousands of levels deep.
fn could_nest_deeply(text: &str) -> bool {
    let mut open: usize = 0;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest > 500 || text.lines().any(|line| line.len() > 5_000)
}

/// Widens a range that begins or ends inside a token to that token's borders, which `in_range` insists upon.
fn whole_tokens(tokens: &Tokens, range: TextRange) -> TextRange {
    let first = tokens.partition_point(|t| t.end() <= range.start());
    let last = tokens.partition_point(|t| t.start() < range.end());
    match (tokens.get(first), last.checked_sub(1).and_then(|i| tokens.get(i))) {
        (Some(a), Some(b)) if a.start() <= b.end() => TextRange::new(a.start(), b.end()),
        _ => TextRange::empty(range.start()),
    }
}

fn is_string(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::String | TokenKind::FStringMiddle | TokenKind::TStringMiddle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_reported_and_the_rest_is_kept() {
        let parsed = script("x = 1\nprint 'two'\ny = 2\n");
        assert!(parsed.has_errors());
        assert!(parsed.body().len() >= 2);
    }

    #[test]
    fn deep_nesting_parses() {
        let text = format!("x = {}1{}", "(".repeat(50_000), ")".repeat(50_000));
        let parsed = script(&text);
        assert!(!parsed.has_errors());
        parsed.forget();
    }

    #[test]
    fn multiline_strings_are_seen() {
        let text = "a = 1\nb = '''\n  c\n'''\n";
        let parsed = script(text);
        assert!(parsed.multiline_strings(text, TextRange::new(6.into(), 20.into())));
        assert!(!parsed.multiline_strings(text, TextRange::new(0.into(), 5.into())));
    }

    #[test]
    fn magics_parse_in_cells() {
        let text = "%matplotlib inline\n!ls\nx = 1\ny = x?\n";
        let parsed = cells(text, [(TextRange::new(0.into(), 29.into()), true)]);
        assert!(!parsed.has_errors(), "{:?}", parsed.errors().collect::<Vec<_>>());
        assert_eq!(parsed.body().len(), 3);
    }

    #[test]
    fn unwanted_cells_are_passed_over() {
        let text = "x = 1\n%%bash\nls é\ny = 2\ndef f(:\n";
        let at = |part: &str| TextRange::at((text.find(part).unwrap() as u32).into(), TextSize::of(part));
        let parsed = cells(
            text,
            [(at("x = 1"), true), (at("%%bash\nls é"), false), (at("y = 2"), true), (at("def f(:"), false)],
        );
        assert!(!parsed.has_errors(), "{:?}", parsed.errors().collect::<Vec<_>>());
        let found: Vec<&str> = parsed.body().iter().map(|stmt| &text[stmt.range()]).collect();
        assert_eq!(found, ["x = 1", "y = 2"]);
    }
}
