//! Where rules put their findings.

use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Ranged, TextRange};
use crate::rule::Rule;

/// Collects what one file's rules find.
pub struct Sink<'r> {
    pub(crate) drafts: Vec<Draft<'r>>,
    pub(crate) rule: &'r Rule,
    pub(crate) asked: bool,
}

/// A finding in the making.
pub struct Draft<'r> {
    pub(crate) rule: &'r Rule,
    pub(crate) range: TextRange,
    pub(crate) message: String,
    pub(crate) severity: Severity,
    pub(crate) fix: Option<DraftFix>,
}

pub(crate) struct DraftFix {
    pub title: String,
    pub safe: bool,
    pub edits: Vec<Edit>,
}

impl<'r> Sink<'r> {
    pub(crate) fn new(rule: &'r Rule) -> Sink<'r> {
        Sink { drafts: Vec::new(), rule, asked: false }
    }

    /// Whether the user selected this rule by its code or name. Findings that are true but rarely worth a word are for those who ask.
    pub fn is_asked(&self) -> bool {
        self.asked
    }

    /// Reports a finding at a node or range. The message is one sentence: what is wrong and what it costs.
    pub fn report(&mut self, at: impl Ranged, message: impl Into<String>) -> &mut Draft<'r> {
        let (rule, severity) = (self.rule, self.rule.severity);
        self.drafts.push(Draft { rule, range: at.range(), message: message.into(), severity, fix: None });
        self.drafts.last_mut().expect("it was just pushed")
    }
}

impl Draft<'_> {
    /// Another severity than the rule's usual one.
    pub fn severity(&mut self, severity: Severity) -> &mut Self {
        self.severity = severity;
        self
    }

    /// A fix that may be applied without asking.
    pub fn fix(&mut self, title: impl Into<String>, edits: impl IntoIterator<Item = Edit>) -> &mut Self {
        self.set_fix(title.into(), true, edits)
    }

    /// A fix that a person should look at.
    pub fn suggest(&mut self, title: impl Into<String>, edits: impl IntoIterator<Item = Edit>) -> &mut Self {
        self.set_fix(title.into(), false, edits)
    }

    /// A fix when there are edits for it: several edit makers refuse where they would do harm.
    pub fn fix_if(&mut self, safe: bool, title: impl Into<String>, edits: Option<Vec<Edit>>) -> &mut Self {
        match edits {
            Some(edits) => self.set_fix(title.into(), safe, edits),
            None => self,
        }
    }

    fn set_fix(&mut self, title: String, safe: bool, edits: impl IntoIterator<Item = Edit>) -> &mut Self {
        let edits: Vec<Edit> = edits.into_iter().collect();
        if !edits.is_empty() {
            self.fix = Some(DraftFix { title, safe, edits });
        }
        self
    }
}
