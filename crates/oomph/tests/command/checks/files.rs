//! Which files are checked, and what is said of those that cannot be.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::{BAD, DOUBTFUL};
use crate::support::Scratch;

#[test]
fn a_syntax_error_does_not_stop_the_others() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD).write("broken.py", "def f(:\n").write("sub/plain.py", "x = 1\n");
    let ran = scratch.check(&["--output-format", "concise"]);
    ran.ends(2).answers(&["bad.py:3:1: A07"]).says(&["error: broken.py:1:7: syntax error: ", "1 finding in 3 files"]);
    let named = scratch.check(&["broken.py"]);
    named.ends(2).says(&["error: broken.py:1:7: syntax error: "]);
    assert_eq!(named.stdout, "");
}

#[test]
fn python_2_is_one_line_a_file() {
    let scratch = Scratch::new();
    scratch.write("a.py", "import os\nprint 'one'\nprint 'two', 3\nexec 'x'\n");
    scratch.write("b.py", "try:\n    f()\nexcept ValueError, error:\n    raise E, 'x'\nprint `x`\n");
    scratch.write("c.py", "if a <> b:\n    x = 0777\n");
    let ran = scratch.check(&[]);
    ran.ends(2).says(&[
        "a.py:2:7: syntax error: `print` without brackets, as in Python 2: not checked",
        "b.py:4:",
        "c.py:1:",
    ]);
    assert_eq!(ran.stderr.matches("Python 2").count(), 3, "{ran:#?}");
    assert_eq!(ran.stderr.lines().count(), 4, "{ran:#?}");
}

#[test]
fn what_cannot_be_read_is_said() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD);
    std::fs::write(scratch.path("latin.py"), b"import torch\nx = '\xe9'\n").unwrap();
    // Reading its own memory from the start fails, for root too.
    symlink("/proc/self/mem", scratch.path("memory.py")).unwrap();
    symlink(scratch.path("nowhere"), scratch.path("dangling.py")).unwrap();
    symlink(scratch.path(""), scratch.path("circle")).unwrap();
    let ran = scratch.check(&["--output-format", "concise"]);
    ran.ends(2).answers(&["bad.py:3:1: A07"]);
    ran.says(&["error: latin.py: not UTF-8 at byte 18", "error: memory.py: ", "error: dangling.py: no such file"]);
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:#?}");
}

#[test]
fn missing_paths_get_the_next_step() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD);
    let ran = scratch.check(&["nowhere.py", "bad.py", "--output-format", "concise"]);
    ran.ends(2).answers(&["bad.py:3:1: A07"]);
    ran.says(&["error: nowhere.py: no such file", "hint: paths are looked up from the current directory"]);
    scratch.write("empty/readme.md", "x");
    let ran = scratch.check(&["empty"]);
    ran.ends(2).says(&["error: nothing to check in empty", "hint: "]);
}

#[test]
fn deep_and_huge_files_are_passed_over_in_time() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD);
    scratch.write("lists.py", &format!("import torch\nx = {}1{}\n", "[".repeat(5_000), "]".repeat(5_000)));
    scratch.write("plain.py", &format!("x = {}1{}\n", "[".repeat(5_000), "]".repeat(5_000)));
    scratch.write("unclosed.py", &format!("x = {}", "f(".repeat(5_000)));
    scratch.write("chain.py", &format!("import torch\nx = y{}\n", ".a()".repeat(20_000)));
    scratch.write("huge.py", &"import torch\n".repeat(400_000));
    scratch.write("long.py", &format!("import torch\nx = [{}]\n", "1, ".repeat(300_000)));
    let began = Instant::now();
    let ran = scratch.check(&["--output-format", "concise"]);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    ran.ends(2).answers(&["bad.py:3:1: A07"]);
    ran.says(&["warning: lists.py: nested too deeply", "warning: huge.py: 5200000 bytes", "error: unclosed.py:"]);
}

#[test]
fn ignore_files_and_settings_hold() {
    let scratch = Scratch::new();
    scratch.write(".gitignore", "generated/\n").write("generated/a.py", BAD).write(".venv/lib/b.py", BAD);
    scratch.write("bad.py", BAD).write("old/c.py", BAD).write("vendored/d.py", BAD);
    let settings = "[tool.oomph]\nexclude = ['vendored']\n[tool.oomph.per-file-ignores]\n'old/*.py' = ['A07']\n";
    scratch.write("pyproject.toml", settings);
    let ran = scratch.check(&["--output-format", "concise"]);
    ran.ends(1).says(&["1 finding in 2 files"]);
    assert!(ran.stdout.starts_with("bad.py:3:1: A07") && ran.stdout.lines().count() == 1, "{ran:#?}");
    scratch.check(&["generated/a.py"]).ends(1);
    scratch.write("pyproject.toml", "[tool.oomph]\nselct = ['A']\n");
    scratch.check(&["bad.py"]).ends(2).says(&["pyproject.toml: [tool.oomph] has no setting `selct`"]);
}

#[test]
fn comments_silence_their_line() {
    let scratch = Scratch::new();
    let with = |comment: &str| BAD.replace("zero_grad()", &format!("zero_grad()  {comment}"));
    scratch.write("all.py", &with("# oomph: ignore")).write("one.py", &with("# oomph: ignore[A07]"));
    scratch.write("above.py", &BAD.replace("optimizer.zero", "# oomph: ignore[zero-grad-before-step]\noptimizer.zero"));
    scratch.check(&[]).ends(0).says(&["no findings in 3 files"]);
    scratch.write("other.py", &with("# oomph: ignore[A01]"));
    scratch.check(&[]).ends(1).answers(&["other.py:3:1"]);
}

#[test]
fn rules_are_selected_by_code_group_and_name() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD).write("doubtful.py", DOUBTFUL);
    let codes = |args: &[&str]| {
        let ran = scratch.check(&[args, &["--output-format", "concise"]].concat());
        let found: Vec<String> = ran.stdout.lines().map(|l| l.split(' ').nth(1).unwrap().to_owned()).collect();
        found.join(" ")
    };
    assert_eq!(codes(&["--select", "A,E03"]), "A07 E03");
    assert_eq!(codes(&["--select", "A,E", "--ignore", "bare-no-grad,E"]), "A07");
    assert_eq!(codes(&["--select", "zero-grad-before-step"]), "A07");
    let unknown = scratch.check(&["--ignore", "zero-grad-before-stp"]);
    unknown.ends(2).says(&["error: no rule 'zero-grad-before-stp'", "hint: did you mean A07 (zero-grad-before-step)"]);
    scratch.check(&["--select", "Q"]).ends(2).says(&["`oomph check --list` lists"]);
}

#[test]
fn a_named_file_without_an_ending_is_read_by_its_first_line() {
    let scratch = Scratch::new();
    let shell =
        "#!/usr/bin/env bash\nif [ -z \"$1\" ]; then echo no; fi\nexport PYTORCH_CUDA_ALLOC_CONF=max_split_size:1\n";
    scratch.write("launch", shell).write("train", &format!("#!/usr/bin/env python3\n{BAD}"));
    let ran = scratch.check(&["launch", "train", "--output-format", "concise"]);
    ran.ends(1).answers(&["launch:3:", "train:4:1: A07"]);
}
