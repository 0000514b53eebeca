//! A rule: its name, what it wants to see, and what it does with it.

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::inputs::settings::Setting;
use crate::sink::Sink;

/// One rule. Its documentation is the `//!` text of its file.
pub struct Rule {
    /// `A01`.
    pub code: &'static str,
    /// `zero-grad-every-microbatch`: the bad pattern, so that "allow …" reads well.
    pub name: &'static str,
    /// The usual severity; a finding may have another.
    pub severity: Severity,
    pub default: Default,
    pub fix: Safety,
    /// Which nodes `check` is called with.
    pub wants: &'static [Want],
    /// Called once for each node wanted.
    pub check: for<'a> fn(&Facts<'a>, Node<'a>, &mut Sink<'_>),
    /// Called for each environment variable that Python, a shell script, a YAML file or a Dockerfile sets.
    pub setting: Option<fn(&Setting<'_>, &mut Sink<'_>)>,
}

/// Whether a rule runs when nothing is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Default {
    On,
    /// Pedantic: true on nearly every script. Only when selected by its code or name.
    Off,
}

/// What a rule's fixes may be applied with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Safety {
    /// `--fix`.
    Safe,
    /// Some are safe, others only suggested.
    Sometimes,
    /// `--unsafe-fixes`.
    Unsafe,
    /// There is no fix.
    None,
}

/// What a rule is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Calls of this library function or class, by qualified name: `torch.load`.
    Call(&'static str),
    /// Calls whose last name is this, of whatever: `x.backward()`, `backward(x)`. For library functions their own name counts, also
    /// when they were imported under another.
    Named(&'static str),
    /// Every call. Ask for names where you can: this is the most frequent node.
    Calls,
    For,
    While,
    With,
    If,
    Try,
    Handler,
    Function,
    Class,
    Assign,
    AugAssign,
    /// Expression statements.
    ExprStmt,
    Delete,
    Import,
    Return,
    /// Attributes with this name, read or written: `x.requires_grad`.
    Attribute(&'static str),
    /// Once, with the first statement of the file.
    File,
}

impl Rule {
    /// What most rules leave as it is.
    pub const DEFAULT: Rule = Rule {
        code: "",
        name: "",
        severity: Severity::Warning,
        default: Default::On,
        fix: Safety::None,
        wants: &[],
        check: |_, _, _| {},
        setting: None,
    };
}
