//! Files as they come: broken, huge, deep, in other encodings, in notebooks, behind links and ignore files.

use std::fs;
use std::path::PathBuf;

use lint::{Apply, Config, Options, Problem, ProblemKind, Report, check_paths, fix_paths};

const BAD: &str = "import torch\nloss.backward()\noptimizer.zero_grad()\noptimizer.step()\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        fs::create_dir(folder.path("").join(".git")).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Folder {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn check(&self) -> Report {
        check_paths(&[self.0.path().to_path_buf()], &Options::default()).unwrap()
    }
}

fn names(report: &Report) -> Vec<String> {
    report.findings.iter().map(|f| format!("{} {}", f.path.file_name().unwrap().to_str().unwrap(), f.code)).collect()
}

fn kinds(problems: &[Problem]) -> Vec<ProblemKind> {
    problems.iter().map(|p| p.kind).collect()
}

#[test]
fn a_broken_file_does_not_stop_the_others() {
    let folder = Folder::new();
    folder
        .write("bad.py", BAD)
        .write("broken.py", "import torch\ndef f(:\n")
        .write("old.py", "import torch\nprint 'x'\n");
    let report = folder.check();
    assert_eq!(names(&report), ["bad.py A07"]);
    assert_eq!(kinds(&report.problems), [ProblemKind::Syntax, ProblemKind::Syntax]);
    assert_eq!(report.problems[0].span.unwrap().line, 2);
    assert!(report.problems[1].message.contains("Python 2"), "{}", report.problems[1].message);
}

#[test]
fn what_is_not_text_is_reported() {
    let folder = Folder::new();
    folder.write("latin.py", b"import torch\nx = '\xe9'\n");
    let report = folder.check();
    assert_eq!(kinds(&report.problems), [ProblemKind::NotUtf8]);
}

#[test]
fn huge_and_deep_files_are_passed_over() {
    let folder = Folder::new();
    folder.write("huge.py", "import torch\n".repeat(400_000));
    folder.write("brackets.py", format!("import torch\nx = {}1{}\n", "(".repeat(20_000), ")".repeat(20_000)));
    folder.write("lists.py", format!("import torch\nx = {}{}\n", "[".repeat(20_000), "]".repeat(20_000)));
    folder.write("minus.py", format!("import torch\nx = {}1\n", "-".repeat(200_000)));
    folder.write("chain.py", format!("import torch\nx = y{}\n", ".a()".repeat(50_000)));
    folder.write("unclosed.py", format!("import torch\nx = {}", "f(".repeat(50_000)));
    let ifs: String = (0..90).map(|i| format!("{}if x:\n", " ".repeat(i))).collect();
    folder.write("ifs.py", format!("import torch\n{ifs}{}pass\n", " ".repeat(91)));
    folder.write("sum.py", format!("import torch\nx = 1{}\n", " + 1".repeat(50_000)));
    let report = folder.check();
    assert!(report.findings.is_empty());
    let deep = kinds(&report.problems).iter().filter(|k| **k == ProblemKind::TooDeep).count();
    assert!(deep >= 4, "{:?}", report.problems);
    assert!(kinds(&report.problems).contains(&ProblemKind::TooLarge));
}

#[test]
fn long_straight_code_is_walked() {
    let folder = Folder::new();
    let chain: String = (0..30_000).map(|i| format!("x{} = x{i} + model(x{i})\n", i + 1)).collect();
    folder.write("chain.py", format!("import torch\nx0 = 1\n{chain}total += x30000\n"));
    let same: String = "x = x + model(x)\n".repeat(20_000);
    folder.write("same.py", format!("import torch\nfor y in loader:\n    pass\n{same}x.backward()\n"));
    let branches: String = (0..3_000).map(|i| format!("if c{i}:\n    x = f(x)\n")).collect();
    folder.write("branches.py", format!("import torch\n{branches}x.backward()\n"));
    folder.write("steps.py", BAD.repeat(400));
    let report = folder.check();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// `prepare` gives back what it was given: a question for the model's maker must not go round for ever.
#[test]
fn values_made_of_themselves_are_walked() {
    let folder = Folder::new();
    let code = "\
import torch
class Trainer:
    def __init__(self, model):
        self.model = model
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)
    def train(self, loader):
        a = b = c = self.model
        for x in loader:
            a, b, c = b, c, a
            self.optimizer.zero_grad()
            self.model(x).sum().backward()
            self.optimizer.step()
";
    folder.write("trainer.py", code);
    assert!(folder.check().problems.is_empty());
}

#[test]
fn links_in_circles_and_missing_paths() {
    let folder = Folder::new();
    folder.write("a/bad.py", BAD);
    std::os::unix::fs::symlink(folder.path(""), folder.path("a/up")).unwrap();
    std::os::unix::fs::symlink(folder.path("nowhere"), folder.path("a/dangling.py")).unwrap();
    let report = folder.check();
    assert_eq!(names(&report), ["bad.py A07"]);
    assert_eq!(kinds(&report.problems), [ProblemKind::Unreadable]);
    let missing = check_paths(&[folder.path("none")], &Options::default()).unwrap();
    assert_eq!(kinds(&missing.problems), [ProblemKind::Unreadable]);
}

#[test]
fn gitignore_and_foreign_folders_are_respected() {
    let folder = Folder::new();
    folder.write(".gitignore", "generated/\n").write("generated/bad.py", BAD).write(".venv/lib/bad.py", BAD);
    folder.write("node_modules/bad.py", BAD).write("types.pyi", BAD);
    assert!(folder.check().findings.is_empty());
    let named = check_paths(&[folder.path("generated/bad.py")], &Options::default()).unwrap();
    assert_eq!(names(&named), ["bad.py A07"]);
}

#[test]
fn files_without_training_are_only_parsed() {
    let folder = Folder::new();
    folder.write("plain.py", "def f(:\n").write("fine.py", "x = 1\n");
    assert_eq!(kinds(&folder.check().problems), [ProblemKind::Syntax]);
}

#[test]
fn settings_of_the_project_hold() {
    let folder = Folder::new();
    folder.write("pyproject.toml", "[tool.oomph]\nignore = [\"L01\"]\nexclude = [\"vendored\"]\n[tool.oomph.per-file-ignores]\n\"old/*.py\" = [\"A\"]\n");
    folder.write("bad.py", BAD).write("old/bad2.py", BAD).write("vendored/bad3.py", BAD);
    assert_eq!(names(&folder.check()), ["bad.py A07"]);
    let only = Options { config: Config { select: Some(vec!["L".into()]), ..Config::default() }, ..Options::default() };
    assert!(check_paths(&[folder.path("")], &only).unwrap().findings.is_empty());
    let unknown = Options { config: Config { ignore: vec!["Z99".into()], ..Config::default() }, ..Options::default() };
    assert_eq!(check_paths(&[folder.path("")], &unknown).unwrap_err().to_string(), "unknown rule `Z99`");
}

#[test]
fn damaged_settings_are_reported() {
    let folder = Folder::new();
    folder.write("pyproject.toml", "[tool.oomph]\nselct = []\n").write("bad.py", BAD);
    let report = folder.check();
    assert_eq!(names(&report), ["bad.py A07"]);
    assert_eq!(report.problems[0].message, "[tool.oomph] has no setting `selct`");
}

#[test]
fn comments_silence() {
    let folder = Folder::new();
    let with = |comment: &str| BAD.replace("zero_grad()", &format!("zero_grad()  {comment}"));
    folder.write("all.py", with("# oomph: ignore")).write("one.py", with("# oomph: ignore[A07]"));
    folder.write("other.py", with("# oomph: ignore[L01]")).write("file.py", format!("# oomph: ignore-file\n{BAD}"));
    folder.write("above.py", BAD.replace("optimizer.zero", "# oomph: ignore[zero-grad-before-step]\noptimizer.zero"));
    assert_eq!(names(&folder.check()), ["other.py A07"]);
}

#[test]
fn fixes_keep_line_endings_marks_and_comments() {
    let folder = Folder::new();
    let text = format!("\u{feff}{}", BAD.replace("zero_grad()", "zero_grad()  # why").replace('\n', "\r\n"));
    folder.write("crlf.py", &text);
    let fixed = fix_paths(&[folder.path("")], &Options::default(), Apply::Safe).unwrap();
    assert_eq!(fixed.files.len(), 1);
    let expected = "\u{feff}import torch\r\nloss.backward()\r\noptimizer.step()\r\noptimizer.zero_grad()  # why\r\n";
    assert_eq!(fixed.files[0].after, expected);
    assert!(fixed.report.findings.is_empty());
    assert_eq!(fs::read_to_string(folder.path("crlf.py")).unwrap(), text, "nothing is written");
}

#[test]
fn suggested_fixes_wait_to_be_asked_for() {
    let folder = Folder::new();
    folder.write("e.py", "import torch\ndef f(model, x):\n\ttorch.no_grad()\n\treturn model(x)\n");
    assert!(fix_paths(&[folder.path("")], &Options::default(), Apply::Safe).unwrap().files.is_empty());
    let fixed = fix_paths(&[folder.path("")], &Options::default(), Apply::Unsafe).unwrap();
    assert_eq!(fixed.files[0].after, "import torch\ndef f(model, x):\n\twith torch.no_grad():\n\t\treturn model(x)\n");
}

#[test]
fn blocks_with_long_strings_are_not_indented() {
    let folder = Folder::new();
    folder.write("e.py", "import torch\ndef f(model, x):\n    torch.no_grad()\n    return model('''a\nb''')\n");
    let fixed = fix_paths(&[folder.path("")], &Options::default(), Apply::Unsafe).unwrap();
    assert!(fixed.files.is_empty());
    assert_eq!(fixed.report.findings[0].code, "E03");
}

#[test]
fn notebooks_are_read_by_cell_and_fixed_in_place() {
    let folder = Folder::new();
    let notebook = "{\n \"cells\": [\n  {\"cell_type\": \"markdown\", \"source\": [\"x\"]},\n  {\"cell_type\": \"code\", \"execution_count\": 3,\n   \"source\": [\n    \"%matplotlib inline\\n\",\n    \"import torch\"\n   ]},\n  {\"cell_type\": \"code\", \"source\": [\n    \"loss.backward()\\n\",\n    \"optimizer.zero_grad()\\n\",\n    \"optimizer.step()\"\n   ]},\n  {\"cell_type\": \"code\", \"source\": \"def broken(:\"}\n ],\n \"nbformat\": 4\n}\n";
    folder.write("n.ipynb", notebook);
    let report = folder.check();
    assert_eq!(names(&report), ["n.ipynb A07"]);
    assert_eq!((report.findings[0].span.cell, report.findings[0].span.line), (Some(3), 2));
    assert_eq!(kinds(&report.problems), [ProblemKind::Syntax]);
    assert_eq!(report.problems[0].span.unwrap().cell, Some(4));
}

/// Cells in other languages, and broken ones, stand between those that are checked.
#[test]
fn cells_that_are_not_python_are_passed_over() {
    let folder = Folder::new();
    let cell = |code: &str| format!("{{\"cell_type\": \"code\", \"source\": \"{code}\"}}");
    let train = cell("import torch\\nloss.backward()\\noptimizer.zero_grad()\\noptimizer.step()");
    let cells =
        [cell("import os"), cell("%%bash\\nls | wc"), train.clone(), cell("def f(:"), cell("%%html\\n<b>"), train];
    folder.write("n.ipynb", format!("{{\"cells\": [{}], \"nbformat\": 4}}", cells.join(", ")));
    let report = folder.check();
    let found: Vec<_> = report.findings.iter().map(|f| (f.code, f.span.cell)).collect();
    assert_eq!(found, [("A07", Some(3)), ("A07", Some(6))]);
    let fixed = fix_paths(&[folder.path("")], &Options::default(), Apply::Safe).unwrap();
    assert_eq!((fixed.files[0].applied.len(), fixed.report.findings.len()), (2, 0));
}

#[test]
fn a_fixed_notebook_differs_only_in_its_cell() {
    let folder = Folder::new();
    let notebook = "{\"cells\": [{\"cell_type\": \"code\", \"metadata\": {\"a\":  [1,2]},\n \"source\": [\n  \"loss.backward()\\n\",\n  \"optimizer.zero_grad()\\n\",\n  \"optimizer.step()\"\n ]}], \"nbformat\": 4}";
    folder.write("n.ipynb", notebook);
    let fixed = fix_paths(&[folder.path("")], &Options::default(), Apply::Safe).unwrap();
    let expected = "{\"cells\": [{\"cell_type\": \"code\", \"metadata\": {\"a\":  [1,2]},\n \"source\": [\n  \"loss.backward()\\n\",\n  \"optimizer.step()\\n\",\n  \"optimizer.zero_grad()\"\n ]}], \"nbformat\": 4}";
    assert_eq!(fixed.files[0].after, expected);
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let folder = Folder::new();
    for i in 0..40 {
        folder.write(&format!("d{}/f{i}.py", i % 5), BAD);
    }
    let run = |threads| {
        let options = Options { threads, ..Options::default() };
        format!("{:?}", check_paths(&[folder.path("")], &options).unwrap().findings)
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn shell_scripts_are_read() {
    let folder = Folder::new();
    folder.write("run.sh", "torchrun train.py\nexport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n");
    folder.write("quiet.sh", "torchrun train.py\nexport PYTORCH_CUDA_ALLOC_CONF=x:1  # oomph: ignore\n");
    assert_eq!(names(&folder.check()), ["run.sh O07"]);
}
