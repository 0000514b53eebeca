//! What `--fix` writes, and what it leaves alone.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::{BAD, DOUBTFUL, MENDED};
use crate::support::Scratch;

#[test]
fn safe_fixes_are_written_and_checked_again() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD).write("doubtful.py", DOUBTFUL).write("clean.py", "import torch\n");
    let ran = scratch.check(&["--fix", "--output-format", "concise"]);
    ran.ends(1).says(&["Fixed 1 finding in 1 file", "1 finding in 3 files; --fix --unsafe-fixes mends 1"]);
    assert!(ran.stdout.starts_with("doubtful.py:3:5: E03"), "{ran:#?}");
    assert_eq!((scratch.read("bad.py"), scratch.read("doubtful.py")), (MENDED.into(), DOUBTFUL.into()));
    scratch.check(&["bad.py"]).ends(0);
    scratch.check(&["--fix", "--unsafe-fixes"]).ends(0).says(&["Fixed 1 finding in 1 file"]);
    assert!(scratch.read("doubtful.py").contains("    with torch.no_grad():\n        return model(x)\n"));
    let names: Vec<_> = std::fs::read_dir(scratch.path("")).unwrap().collect();
    assert_eq!(names.len(), 3, "nothing is left beside the files: {names:?}");
}

#[test]
fn line_endings_comments_marks_and_rights_are_kept() {
    let scratch = Scratch::new();
    let dressed = |text: &str| {
        let text = text.replace("zero_grad()", "zero_grad()  # why: é");
        format!("\u{feff}{}", format!("# first\n{text}").replace('\n', "\r\n"))
    };
    scratch.write("crlf.py", &dressed(BAD));
    std::fs::set_permissions(scratch.path("crlf.py"), PermissionsExt::from_mode(0o750)).unwrap();
    symlink("crlf.py", scratch.path("link.py")).unwrap();
    scratch.check(&["--fix", "link.py"]).ends(0);
    assert_eq!(scratch.read("crlf.py"), dressed(MENDED));
    let mode = std::fs::metadata(scratch.path("crlf.py")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    assert!(scratch.path("link.py").is_symlink());
}

#[test]
fn nothing_is_written_without_fix() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD).write("doubtful.py", DOUBTFUL);
    let ran = scratch.check(&["--unsafe-fixes"]);
    ran.ends(1).says(&["2 findings in 2 files; --fix --unsafe-fixes mends 2"]);
    let diff = scratch.check(&["--diff"]);
    diff.ends(1).says(&["Would fix 1 finding in 1 file; 1 would remain"]);
    assert_eq!(diff.stdout.matches("+++").count(), 1, "{diff:#?}");
    let both = scratch.check(&["--diff", "--fix", "--unsafe-fixes"]);
    both.ends(1).answers(&["--- bad.py\n+++ bad.py\n", "+    with torch.no_grad():\n"]);
    both.says(&["Would fix 2 findings in 2 files; 0 would remain"]);
    assert_eq!((scratch.read("bad.py"), scratch.read("doubtful.py")), (BAD.into(), DOUBTFUL.into()));
}

#[test]
fn a_file_that_cannot_be_written_keeps_its_findings() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD).write("locked.py", BAD);
    std::fs::set_permissions(scratch.path("locked.py"), PermissionsExt::from_mode(0o444)).unwrap();
    let ran = scratch.check(&["--fix", "--output-format", "concise"]);
    ran.ends(2).says(&["error: cannot write ./locked.py", "it is read-only", "Fixed 1 finding in 1 file"]);
    ran.answers(&["locked.py:3:1: A07"]);
    assert_eq!((scratch.read("bad.py"), scratch.read("locked.py")), (MENDED.into(), BAD.into()));
}

/// As Jupyter 4 writes it: one space of indentation, keys sorted, an output, a picture, cells in other languages, escapes.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "a1b2c3d4",
   "metadata": {},
   "source": [
    "# Training\n",
    "`optimizer.zero_grad()` and `optimizer.step()`"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "e5f6a7b8",
   "metadata": {"tags": ["setup"]},
   "outputs": [{"data": {"image/png": "iVBORw0KGgo=\n", "text/plain": ["<Figure: \u00e9>"]}, "metadata": {}, "output_type": "display_data"}],
   "source": [
    "%matplotlib inline\n",
    "!nvidia-smi | head\n",
    "import torch"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "c9d0e1f2",
   "metadata": {},
   "outputs": [],
   "source": [
    "%%bash\n",
    "if [ -f x ]; then ls; fi"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "a3b4c5d6",
   "metadata": {},
   "outputs": [],
   "source": [
    "loss.backward()\n",
    "optimizer.zero_grad()  # \"why\" \\ é\n",
    "optimizer.step()"
   ]
  }
 ],
 "metadata": {
  "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

#[test]
fn a_notebook_changes_in_its_code_only() {
    let scratch = Scratch::new();
    scratch.write("notes.ipynb", NOTEBOOK);
    let found = scratch.check(&["--output-format", "concise"]);
    assert!(found.ends(1).stdout.starts_with("notes.ipynb:cell 4:2:1: A07"), "{found:#?}");
    scratch.check(&["--fix"]).ends(0);
    let swapped = "    \"optimizer.step()\\n\",\n    \"optimizer.zero_grad()  # \\\"why\\\" \\\\ é\"\n";
    let before = "    \"optimizer.zero_grad()  # \\\"why\\\" \\\\ é\\n\",\n    \"optimizer.step()\"\n";
    assert!(NOTEBOOK.contains(before));
    assert_eq!(scratch.read("notes.ipynb"), NOTEBOOK.replace(before, swapped));
}

#[test]
fn a_broken_cell_leaves_the_others_to_be_mended() {
    let scratch = Scratch::new();
    let broken = NOTEBOOK.replace("\"import torch\"", "\"import torch\\n\",\n    \"def f(:\"");
    scratch.write("notes.ipynb", &broken);
    let ran = scratch.check(&["--fix"]);
    ran.ends(2).says(&["error: notes.ipynb:cell 2:4:7: syntax error"]);
    assert_ne!(scratch.read("notes.ipynb"), broken);
    scratch.write("notes.ipynb", "{\"cells\": [{]}");
    scratch.check(&[]).ends(2).says(&["error: notes.ipynb: damaged JSON at line 1"]);
}
