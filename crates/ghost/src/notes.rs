//! What the person should know about this run: figures that were derived, calls that found no answer.

use std::collections::BTreeSet;
use std::sync::Mutex;

static NOTES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Keeps a note, once however often it is made.
pub fn note(text: impl Into<String>) {
    let text = text.into();
    crate::say!("note: {text}");
    if let Ok(mut notes) = NOTES.lock() {
        notes.insert(text);
    }
}

/// All notes, one a line.
pub fn all() -> String {
    let notes = NOTES.lock().map(|n| n.iter().cloned().collect::<Vec<_>>()).unwrap_or_default();
    notes.join("\n")
}
