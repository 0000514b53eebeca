//! From nodes to the rules that want them, by one table: a node that no rule wants costs one look-up.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::config::Selection;
use crate::facts::{Facts, Node};
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};
use crate::registry;
use crate::rule::Want;
use crate::sink::Sink;

type Rules = SmallVec<[u16; 4]>;

/// Which rules want what. Calls are looked up by their last name, attributes by their name.
#[derive(Default)]
struct Table {
    named: FxHashMap<&'static str, Rules>,
    /// By last name; the whole qualified name is compared then.
    qualified: FxHashMap<&'static str, SmallVec<[(&'static str, u16); 4]>>,
    attributes: FxHashMap<&'static str, Rules>,
    calls: Rules,
    kinds: [Rules; KINDS],
    file: Rules,
}

const KINDS: usize = 14;

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table::default();
        for (index, entry) in registry::all().iter().enumerate() {
            for want in entry.rule.wants {
                table.add(*want, index as u16);
            }
        }
        table
    })
}

impl Table {
    fn add(&mut self, want: Want, rule: u16) {
        match want {
            Want::Call(name) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                self.qualified.entry(last).or_default().push((name, rule));
            }
            Want::Named(name) => self.named.entry(name).or_default().push(rule),
            Want::Attribute(name) => self.attributes.entry(name).or_default().push(rule),
            Want::Calls => self.calls.push(rule),
            Want::File => self.file.push(rule),
            other => {
                if let Some(kind) = kind_of_want(other) {
                    self.kinds[kind].push(rule);
                }
            }
        }
    }
}

fn kind_of_want(want: Want) -> Option<usize> {
    Some(match want {
        Want::For => 0,
        Want::While => 1,
        Want::With => 2,
        Want::If => 3,
        Want::Try => 4,
        Want::Handler => 5,
        Want::Function => 6,
        Want::Class => 7,
        Want::Assign => 8,
        Want::AugAssign => 9,
        Want::ExprStmt => 10,
        Want::Delete => 11,
        Want::Import => 12,
        Want::Return => 13,
        _ => return None,
    })
}

fn kind_of_stmt(stmt: &Stmt) -> Option<usize> {
    Some(match stmt {
        Stmt::For(_) => 0,
        Stmt::While(_) => 1,
        Stmt::With(_) => 2,
        Stmt::If(_) => 3,
        Stmt::Try(_) => 4,
        Stmt::FunctionDef(_) => 6,
        Stmt::ClassDef(_) => 7,
        Stmt::Assign(_) | Stmt::AnnAssign(_) => 8,
        Stmt::AugAssign(_) => 9,
        Stmt::Expr(_) => 10,
        Stmt::Delete(_) => 11,
        Stmt::Import(_) | Stmt::ImportFrom(_) => 12,
        Stmt::Return(_) => 13,
        _ => return None,
    })
}

/// Runs every selected rule on every node that it wants, in order of execution.
pub(super) fn run<'a>(facts: &Facts<'a>, selection: &Selection, sink: &mut Sink<'_>) {
    let table = table();
    if let Some(first) = facts.tree().all().first() {
        run_all(&table.file, facts, *first, selection, sink);
    }
    for node in facts.tree().all() {
        match node {
            Node::Expr(Expr::Call(call)) => run_call(table, facts, call, *node, selection, sink),
            Node::Expr(Expr::Attribute(attribute)) => {
                if let Some(rules) = table.attributes.get(attribute.attr.as_str()) {
                    run_all(rules, facts, *node, selection, sink);
                }
            }
            Node::Stmt(stmt) => {
                if let Some(kind) = kind_of_stmt(stmt) {
                    run_all(&table.kinds[kind], facts, *node, selection, sink);
                }
            }
            Node::Handler(_) => run_all(&table.kinds[5], facts, *node, selection, sink),
            Node::Expr(_) => {}
        }
    }
}

fn run_call<'a>(
    table: &Table,
    facts: &Facts<'a>,
    call: &'a ExprCall,
    node: Node<'a>,
    selection: &Selection,
    sink: &mut Sink<'_>,
) {
    run_all(&table.calls, facts, node, selection, sink);
    let full = facts.callee(call);
    // An import may have given the function another name; the library's own counts.
    let last = full.map_or_else(|| facts.called_name(call), |name| name.rsplit('.').next());
    let Some(last) = last else { return };
    if let Some(rules) = table.named.get(last) {
        run_all(rules, facts, node, selection, sink);
    }
    for (name, rule) in table.qualified.get(last).into_iter().flatten() {
        if full == Some(*name) {
            run_all(&[*rule], facts, node, selection, sink);
        }
    }
}

fn run_all<'a>(rules: &[u16], facts: &Facts<'a>, node: Node<'a>, selection: &Selection, sink: &mut Sink<'_>) {
    for rule in rules {
        if selection.contains(*rule as usize) {
            sink.asked = selection.is_asked(*rule as usize);
            let rule = registry::all()[*rule as usize].rule;
            sink.rule = rule;
            let before = sink.drafts.len();
            (rule.check)(facts, node, sink);
            // Asked only where something was found, because most nodes have no finding.
            if sink.drafts.len() > before && facts.runs_on_no_gpu(&node) {
                sink.drafts.truncate(before);
            }
        }
    }
}

pub(super) fn some_rule_reads_settings(selection: &Selection) -> bool {
    registry::all().iter().enumerate().any(|(index, e)| e.rule.setting.is_some() && selection.contains(index))
}
