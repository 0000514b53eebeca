//! Unified diffs of what a fix changes.

use std::path::Path;

use similar::{Algorithm, TextDiff};

/// The difference between two texts of a file, with three lines of context. Empty when there is none.
pub fn unified(path: &Path, before: &str, after: &str) -> String {
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(before, after);
    let name = path.display().to_string();
    diff.unified_diff().context_radius(3).header(&name, &name).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_changed_is_an_empty_diff() {
        assert_eq!(unified(Path::new("a.py"), "x\n", "x\n"), "");
        assert!(unified(Path::new("a.py"), "x\ny\n", "x\nz\n").contains("-y\n+z\n"));
    }
}
