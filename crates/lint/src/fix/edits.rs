//! Edits that rules make: statements moved, wrapped and removed by whole lines, arguments added, comments kept.
//!
//! Those that could do harm (a statement that shares its line, a block with a string over several lines) answer `None`.

use super::edit::Edit;
use crate::facts::{Facts, Node};
use crate::parse::ast::{ExprCall, StmtFunctionDef};
use crate::parse::{Expr, Ranged, Stmt, TextRange, TextSize};

impl<'a> Facts<'a> {
    /// The block that a statement stands in, and its place there.
    pub fn siblings(&self, stmt: &Stmt) -> (&'a [Stmt], usize) {
        let blocks = match self.parent(stmt) {
            None => vec![self.parsed.body()],
            Some(Node::Stmt(parent)) => blocks(parent),
            Some(Node::Handler(handler)) => vec![&handler.body[..]],
            Some(Node::Expr(_)) => Vec::new(),
        };
        for block in blocks {
            if let Some(at) = block.iter().position(|s| std::ptr::eq(s, stmt)) {
                return (block, at);
            }
        }
        (&[], 0)
    }

    /// The statements behind this one in its block.
    pub fn following(&self, stmt: &Stmt) -> &'a [Stmt] {
        let (block, at) = self.siblings(stmt);
        block.get(at + 1..).unwrap_or(&[])
    }

    /// The statements before this one in its block.
    pub fn preceding(&self, stmt: &Stmt) -> &'a [Stmt] {
        let (block, at) = self.siblings(stmt);
        &block[..at.min(block.len())]
    }

    /// Whole lines of a statement with its line break, if nothing else stands on them but a comment.
    fn own_lines(&self, stmt: &Stmt) -> Option<TextRange> {
        let (source, range) = (self.source, stmt.range());
        let first = source.line_range(source.line_of(range.start()));
        let last_line = source.line_of(range.end());
        let last = source.line_range(last_line);
        let before = &source.text()[TextRange::new(first.start(), range.start())];
        let after = source.text()[TextRange::new(range.end(), last.end())].trim_start();
        if !before.trim_start_matches('\u{feff}').trim().is_empty() || !(after.is_empty() || after.starts_with('#')) {
            return None;
        }
        let end = source.line_range(last_line + 1).start();
        let end = if end > last.end() { end } else { source.text().len().try_into().ok()? };
        // The line break between two cells is in neither.
        let cell = source.notebook().and_then(|notebook| notebook.cell_at(range.start()));
        let end = cell.map_or(end, |cell| end.min(cell.range.end()));
        Some(TextRange::new(range.start() - TextSize::of(before), end))
    }

    /// Removes a statement: its lines, or `pass` in its place when its block would be empty.
    pub fn delete_statement(&self, stmt: &Stmt) -> Option<Vec<Edit>> {
        let lines = self.own_lines(stmt)?;
        let (block, _) = self.siblings(stmt);
        if block.len() == 1 && self.parent(stmt).is_some() {
            return Some(vec![Edit::replace(stmt.range(), "pass")]);
        }
        Some(vec![Edit::delete(lines)])
    }

    /// Puts code on its own line (or lines) before a statement, indented like it.
    pub fn insert_before(&self, stmt: &Stmt, code: &str) -> Option<Edit> {
        let lines = self.own_lines(stmt)?;
        let indent = self.source.indentation(stmt.start());
        let at = if lines.start() == TextSize::new(0) && self.source.text().starts_with('\u{feff}') {
            TextSize::of('\u{feff}')
        } else {
            lines.start()
        };
        Some(Edit::insert(at, format!("{}\n", indented(code, indent))))
    }

    /// Puts code on its own line (or lines) behind a statement, indented like it.
    pub fn insert_after(&self, stmt: &Stmt, code: &str) -> Option<Edit> {
        let lines = self.own_lines(stmt)?;
        let indent = self.source.indentation(stmt.start());
        let ends_in_break = self.source.text()[lines].ends_with('\n');
        let text = indented(code, indent);
        let text = if ends_in_break { format!("{text}\n") } else { format!("\n{text}") };
        Some(Edit::insert(lines.end(), text))
    }

    /// Takes a statement out and puts it behind another one, indented like that one.
    pub fn move_after(&self, stmt: &Stmt, target: &Stmt) -> Option<Vec<Edit>> {
        if self.parsed.multiline_strings(self.source.text(), stmt.range()) {
            return None;
        }
        let mut edits = self.delete_statement(stmt)?;
        let from = self.source.indentation(stmt.start());
        edits.push(self.insert_after(target, &self.dedented(stmt, from))?);
        Some(edits)
    }

    /// Takes a statement out and puts it before another one, indented like that one.
    pub fn move_before(&self, stmt: &Stmt, target: &Stmt) -> Option<Vec<Edit>> {
        if self.parsed.multiline_strings(self.source.text(), stmt.range()) {
            return None;
        }
        let mut edits = self.delete_statement(stmt)?;
        let from = self.source.indentation(stmt.start());
        edits.push(self.insert_before(target, &self.dedented(stmt, from))?);
        Some(edits)
    }

    /// A statement's text with the comment at its end, its lines as if it stood at the margin.
    fn dedented(&self, stmt: &Stmt, indent: &str) -> String {
        let line = self.source.line_range(self.source.line_of(stmt.end()));
        let text = &self.source.text()[TextRange::new(stmt.start(), line.end())];
        let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix(indent).unwrap_or(line)).collect();
        lines.join("\n")
    }

    /// Exchanges two statements that stand on lines of their own.
    pub fn swap(&self, first: &Stmt, second: &Stmt) -> Option<Vec<Edit>> {
        self.own_lines(first)?;
        self.own_lines(second)?;
        let whole = |stmt: &Stmt| {
            let end = self.source.line_range(self.source.line_of(stmt.end())).end();
            TextRange::new(stmt.start(), end)
        };
        let (a, b) = (whole(first), whole(second));
        let text = self.source.text();
        (a.end() <= b.start()).then(|| vec![Edit::replace(a, &text[b]), Edit::replace(b, &text[a])])
    }

    /// Puts statements of one block under a new header, one level deeper: `with torch.no_grad():`.
    pub fn wrap(&self, first: &Stmt, last: &Stmt, header: &str) -> Option<Vec<Edit>> {
        let lines = TextRange::new(self.own_lines(first)?.start(), self.own_lines(last)?.end());
        if self.parsed.multiline_strings(self.source.text(), lines) {
            return None;
        }
        let indent = self.source.indentation(first.start());
        let step = if indent.contains('\t') { "\t" } else { self.indent_step() };
        let mut edits = vec![self.insert_before(first, header)?];
        let (top, bottom) = (self.source.line_of(lines.start()), self.source.line_of(last.end()));
        for line in top..=bottom {
            let range = self.source.line_range(line);
            if !self.source.text()[range].trim().is_empty() {
                edits.push(Edit::insert(range.start(), step));
            }
        }
        // The header goes before the first line's new indentation.
        let inner = edits.remove(1);
        edits[0].text.push_str(&inner.text);
        Some(edits)
    }

    /// How far this file indents.
    pub fn indent_step(&self) -> &'static str {
        let first = self.source.text().lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
        match first.map(|line| line.len() - line.trim_start().len()) {
            Some(_) if first.is_some_and(|line| line.starts_with('\t')) => "\t",
            Some(2) => "  ",
            _ => "    ",
        }
    }

    /// Puts a decorator on a function, next to its `def`.
    pub fn decorate(&self, def: &StmtFunctionDef, decorator: &str) -> Edit {
        let line = self.source.line_range(self.source.line_of(def.name.start()));
        let indent = self.source.indentation(def.name.start());
        Edit::insert(line.start(), format!("{indent}{decorator}\n"))
    }

    /// Adds an argument behind the others: `num_workers=4`.
    pub fn add_argument(&self, call: &ExprCall, argument: &str) -> Edit {
        let arguments = &call.arguments;
        let last = arguments.iter_source_order().last().map(|a| a.range().end());
        let Some(last) = last else {
            return Edit::insert(arguments.range().end() - TextSize::of(')'), argument);
        };
        let rest = &self.source.text()[TextRange::new(last, arguments.range().end())];
        // A bracket around the last argument belongs to it; a comma behind it is used again.
        let closes = rest.bytes().take_while(|b| *b == b')').count().min(rest.matches(')').count() - 1);
        let at = last + TextSize::new(closes as u32);
        let rest = &rest[closes..];
        match rest.trim_start().starts_with(',') {
            true => {
                let comma = at + TextSize::new(rest.find(',').unwrap_or(0) as u32 + 1);
                let own_line = rest.contains('\n');
                let space = if own_line { self.argument_space(call) } else { " ".to_owned() };
                Edit::insert(comma, format!("{space}{argument}{}", if own_line { "," } else { "" }))
            }
            false => Edit::insert(at, format!(", {argument}")),
        }
    }

    /// Line break and indentation of the call's last argument, when it stands on its own line.
    fn argument_space(&self, call: &ExprCall) -> String {
        match call.arguments.iter_source_order().last() {
            Some(last) => format!("\n{}", self.source.indentation(last.range().start())),
            None => " ".to_owned(),
        }
    }

    /// Removes a keyword argument with its comma.
    pub fn remove_keyword(&self, call: &ExprCall, name: &str) -> Option<Edit> {
        let keyword = call.arguments.find_keyword(name)?;
        if self.parsed.has_comment(call.arguments.range()) {
            return None;
        }
        let text = self.source.text();
        let before = &text[TextRange::new(call.arguments.range().start(), keyword.range().start())];
        let after = &text[TextRange::new(keyword.range().end(), call.arguments.range().end())];
        if before.trim_end().ends_with(',') {
            let cut = before.len() - before.trim_end().trim_end_matches(',').len();
            let start = keyword.range().start() - TextSize::new(cut as u32);
            return Some(Edit::delete(TextRange::new(start, keyword.range().end())));
        }
        let tail = after
            .trim_start()
            .strip_prefix(',')
            .map_or(0, |rest| after.len() - rest.trim_start_matches([' ', '\n', '\r', '\t']).len());
        Some(Edit::delete(TextRange::new(keyword.range().start(), keyword.range().end() + TextSize::new(tail as u32))))
    }

    /// Puts `.method()` behind an expression, in brackets where the expression needs them.
    pub fn append_call(&self, expr: &Expr, suffix: &str) -> Vec<Edit> {
        let tight = matches!(
            expr,
            Expr::Name(_)
                | Expr::Attribute(_)
                | Expr::Call(_)
                | Expr::Subscript(_)
                | Expr::List(_)
                | Expr::StringLiteral(_)
        );
        match tight {
            true => vec![Edit::insert(expr.end(), suffix)],
            false => vec![Edit::insert(expr.start(), "("), Edit::insert(expr.end(), format!("){suffix}"))],
        }
    }

    /// How to write a library object here, and the import to add when there is none: `("torch.no_grad", Some(edit))`.
    pub fn spelling_or_import(&self, name: &str) -> (String, Option<Edit>) {
        if let Some(spelling) = self.spelling(name) {
            return (spelling, None);
        }
        let module = name.split('.').next().unwrap_or(name);
        let edit = self.first_code_statement().and_then(|first| self.insert_before(first, &format!("import {module}")));
        (name.to_owned(), edit)
    }

    /// Where an import may go: behind the docstring and `from __future__`.
    fn first_code_statement(&self) -> Option<&'a Stmt> {
        self.parsed.body().iter().find(|stmt| match stmt {
            Stmt::Expr(expr) => !expr.value.is_string_literal_expr(),
            Stmt::ImportFrom(import) => import.module.as_ref().is_none_or(|m| m.as_str() != "__future__"),
            _ => true,
        })
    }
}

fn indented(code: &str, indent: &str) -> String {
    let lines: Vec<String> =
        code.lines().map(|line| if line.is_empty() { String::new() } else { format!("{indent}{line}") }).collect();
    lines.join("\n")
}

fn blocks(stmt: &Stmt) -> Vec<&[Stmt]> {
    match stmt {
        Stmt::FunctionDef(def) => vec![&def.body],
        Stmt::ClassDef(def) => vec![&def.body],
        other => crate::facts::blocks(other),
    }
}
