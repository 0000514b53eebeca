//! Rule specifications: Markdown files with bad and good cases that are run as tests.
//!
//! `## Bad: title` and `## Good: title` are followed by a fenced block. In bad cases the lines with findings end in
//! `# <- CODE`. A block marked `fixed` (safe fixes) or `suggested` (all fixes) behind a bad case is what fixing it gives.

use std::path::{Path, PathBuf};

use lint::inputs::read::{Input, shape};
use lint::{Apply, Project, Selection, Source, check_source, fix_source};

pub struct Case {
    pub is_bad: bool,
    pub title: String,
    pub language: String,
    /// What stands behind the language: `requirements.txt` lines, as `torch<2.3`.
    pub requirements: String,
    pub code: String,
    pub expected_lines: Vec<usize>,
    pub fixed: Option<(Apply, String)>,
}

pub fn read(path: &Path, code: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut cases: Vec<Case> = Vec::new();
    let mut heading: Option<(bool, String)> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## Bad:") {
            heading = Some((true, title.trim().to_owned()));
        } else if let Some(title) = line.strip_prefix("## Good:") {
            heading = Some((false, title.trim().to_owned()));
        } else if let Some(info) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
            add_block(&mut cases, &mut heading, info, &body, code);
        }
    }
    cases
}

fn add_block(cases: &mut Vec<Case>, heading: &mut Option<(bool, String)>, info: &str, body: &[&str], code: &str) {
    let mut words = info.split_whitespace();
    let language = words.next().unwrap_or("").to_owned();
    let rest: Vec<&str> = words.collect();
    let joined = body.iter().map(|l| format!("{l}\n")).collect::<String>();
    match rest.first() {
        Some(&"fixed") => cases.last_mut().expect("a case before `fixed`").fixed = Some((Apply::Safe, joined)),
        Some(&"suggested") => {
            cases.last_mut().expect("a case before `suggested`").fixed = Some((Apply::Unsafe, joined))
        }
        _ => {
            let (is_bad, title) =
                heading.take().unwrap_or_else(|| panic!("{code}: a block without `## Bad:` or `## Good:`"));
            let marker = format!("# <- {code}");
            let mut expected_lines = Vec::new();
            let mut clean = String::new();
            for (index, line) in body.iter().enumerate() {
                match line.strip_suffix(&marker) {
                    Some(kept) => {
                        // The lines between cells are not part of a notebook's code.
                        let cells = if language == "notebook" {
                            body[..index].iter().filter(|l| **l == "# %%").count()
                        } else {
                            0
                        };
                        expected_lines.push(index + 1 - cells);
                        clean.push_str(kept.trim_end());
                    }
                    None => clean.push_str(line),
                }
                clean.push('\n');
            }
            let requirements = rest.join("\n");
            cases.push(Case { is_bad, title, language, requirements, code: clean, expected_lines, fixed: None });
        }
    }
}

impl Case {
    fn source(&self) -> Source {
        let (name, input) = match &self.language[..] {
            "python" => ("case.py", Input::Script),
            "notebook" => ("case.ipynb", Input::Notebook),
            "sh" => ("case.sh", Input::of(Path::new("case.sh")).unwrap()),
            "yaml" => ("case.yaml", Input::of(Path::new("case.yaml")).unwrap()),
            "dockerfile" => ("Dockerfile", Input::of(Path::new("Dockerfile")).unwrap()),
            other => panic!("no such language: {other}"),
        };
        let text = if input == Input::Notebook { notebook(&self.code) } else { self.code.clone() };
        shape(&PathBuf::from(name), text, input).unwrap()
    }

    fn project(&self) -> Project {
        Project::with_requirements(&self.requirements)
    }

    /// Runs the case; an error says what is wrong.
    pub fn run(&self, code: &str) -> Result<(), String> {
        let selection = Selection::only(&[code]);
        let (source, project) = (self.source(), self.project());
        let checked = check_source(&source, &project, &selection);
        if let Some(problem) = checked.problems.first() {
            return Err(format!("does not parse: {}", problem.message));
        }
        let mut found: Vec<usize> = checked.findings.iter().map(|f| source.span_line(f)).collect();
        found.dedup();
        if found != self.expected_lines {
            return Err(format!("findings on lines {found:?}, expected {:?}\n{}", self.expected_lines, self.code));
        }
        if self.is_bad && found.is_empty() {
            return Err("a bad case without a marked line".to_owned());
        }
        match &self.fixed {
            Some((apply, expected)) => self.run_fix(source, &project, &selection, *apply, expected),
            None => Ok(()),
        }
    }

    fn run_fix(
        &self,
        source: Source,
        project: &Project,
        selection: &Selection,
        apply: Apply,
        expected: &str,
    ) -> Result<(), String> {
        let fixed = fix_source(source, project, selection, apply);
        if !fixed.refused.is_empty() {
            return Err("the fix would break the file".to_owned());
        }
        if fixed.source.text().trim_end() != expected.trim_end() {
            return Err(format!("fixed to:\n{}\nexpected:\n{expected}", fixed.source.text()));
        }
        Ok(())
    }
}

/// A notebook of these cells, separated by `# %%` lines.
pub fn notebook(code: &str) -> String {
    let cells: Vec<String> = code
        .split("# %%\n")
        .filter(|cell| !cell.trim().is_empty())
        .map(|cell| {
            let source: String = cell
                .trim_end()
                .chars()
                .flat_map(|c| match c {
                    '"' => vec!['\\', '"'],
                    '\\' => vec!['\\', '\\'],
                    '\n' => vec!['\\', 'n'],
                    c => vec![c],
                })
                .collect();
            format!("{{\"cell_type\": \"code\", \"source\": \"{source}\"}}")
        })
        .collect();
    format!("{{\"cells\": [{}], \"nbformat\": 4}}", cells.join(", "))
}

trait SpanLine {
    fn span_line(&self, finding: &lint::Finding) -> usize;
}

impl SpanLine for Source {
    /// The line in the whole text, also for notebooks, where spans count inside their cell.
    fn span_line(&self, finding: &lint::Finding) -> usize {
        self.text()[..finding.span.start].matches('\n').count() + 1
    }
}
