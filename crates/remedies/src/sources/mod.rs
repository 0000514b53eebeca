//! What only the source shows: attention that is written out by hand.

pub mod attention;
mod scores;

use crate::script::{Place, Script};
use crate::write::{Draft, Files};

/// Adds to what was seen of a script what its source shows.
pub fn look(script: &mut Script, files: &dyn Files) {
    let seen = script.clone();
    let mut draft = Draft::new(&seen, files);
    for path in draft.seen() {
        let lines = draft.read(&path, |page| attention::lines(page.facts)).unwrap_or_default();
        let file = path.to_string_lossy().into_owned();
        script.eager_attention.extend(lines.into_iter().map(|line| Place { file: file.clone(), line }));
    }
}
