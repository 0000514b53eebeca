//! A change in the making: the current text of each file, edited and parsed again for every step.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lint::facts::Facts;
use lint::fix::edit::Edit;
use lint::parse::{self, TextSize};
use lint::{Project, Source};

use super::patch::{Files, Patch};
use crate::cannot::CannotWrite;
use crate::script::{Place, Script};

/// The files of the user with the changes so far.
pub struct Draft<'s> {
    pub script: &'s Script,
    files: &'s dyn Files,
    texts: BTreeMap<PathBuf, Text>,
    patch: Patch,
}

struct Text {
    old: String,
    new: String,
    anchors: Anchors,
}

/// Where the lines of the unchanged file are now: the script was watched before anything was edited.
pub(crate) struct Anchors(Vec<TextSize>);

impl Anchors {
    fn new(text: &str) -> Anchors {
        let mut at = 0;
        let lines = text.split_inclusive('\n').map(|line| {
            let code = at + line.len() - line.trim_start().len();
            at += line.len();
            TextSize::new(code.min(at) as u32)
        });
        Anchors(lines.collect())
    }

    /// Where a line of the unchanged file begins now, without its indentation. Lines count from 1.
    pub fn at(&self, line: u64) -> Option<TextSize> {
        self.0.get((line as usize).checked_sub(1)?).copied()
    }

    fn shift(&mut self, edits: &[Edit]) {
        for anchor in &mut self.0 {
            let before = edits.iter().filter(|e| e.range.end() <= *anchor);
            let moved: i64 = before.map(|e| e.text.len() as i64 - i64::from(e.range.len().to_u32())).sum();
            *anchor = TextSize::new((i64::from(anchor.to_u32()) + moved).max(0) as u32);
        }
    }
}

/// One file as it is now: its facts, and where lines of the unchanged file have gone.
pub(crate) struct Page<'f, 'a> {
    pub facts: &'f Facts<'a>,
    pub anchors: &'f Anchors,
}

impl<'s> Draft<'s> {
    pub(crate) fn new(script: &'s Script, files: &'s dyn Files) -> Draft<'s> {
        Draft { script, files, texts: BTreeMap::new(), patch: Patch::default() }
    }

    /// The path of the script that is run.
    pub(crate) fn main(&self) -> PathBuf {
        self.files.script().to_path_buf()
    }

    /// The user's files that were seen at work, the script that is run first.
    pub(crate) fn seen(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.main()];
        for place in self.script.places() {
            let path = PathBuf::from(&place.file);
            if !paths.contains(&path) && is_the_users(&path) && self.files.read(&path).is_some() {
                paths.push(path);
            }
        }
        paths
    }

    /// Looks at a file.
    pub(crate) fn read<T>(
        &mut self,
        path: &Path,
        ask: impl for<'f, 'a> FnOnce(Page<'f, 'a>) -> T,
    ) -> Result<T, CannotWrite> {
        self.with_page(path, ask).map(|(answer, _)| answer)
    }

    /// Changes a file. Edits that overlap or would break the file are refused.
    pub(crate) fn edit(
        &mut self,
        path: &Path,
        make: impl for<'f, 'a> FnOnce(Page<'f, 'a>) -> Result<Vec<Edit>, CannotWrite>,
    ) -> Result<(), CannotWrite> {
        let (edits, source) = self.with_page(path, make)?;
        let mut edits = edits?;
        edits.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
        let spans: Vec<lint::Edit> =
            edits.iter().map(|e| lint::Edit { span: source.span(e.range), text: e.text.clone() }).collect();
        let next = lint::fix::apply::apply_edits(&source, &spans.iter().collect::<Vec<_>>()).ok_or_else(|| {
            CannotWrite::new(format!("the change would break {}", path.display()), "Make the change by hand.")
        })?;
        let ending = source.line_ending();
        for edit in &mut edits {
            edit.text = edit.text.replace('\n', ending);
        }
        let text = self.texts.get_mut(path).expect("it was just read");
        text.new = next.text().to_owned();
        text.anchors.shift(&edits);
        Ok(())
    }

    /// Puts another text in place of a file's.
    pub(crate) fn replace(&mut self, path: &Path, next: String) -> Result<(), CannotWrite> {
        self.open(path)?;
        let text = self.texts.get_mut(path).expect("it was just opened");
        // Lines before the first difference and behind the last one keep their places.
        let same = text.new.bytes().zip(next.bytes()).take_while(|(a, b)| a == b).count();
        let moved = next.len() as i64 - text.new.len() as i64;
        for anchor in text.anchors.0.iter_mut().filter(|a| a.to_usize() > same) {
            *anchor = TextSize::new((i64::from(anchor.to_u32()) + moved).max(0) as u32);
        }
        text.new = next;
        Ok(())
    }

    /// A file's text as it is now.
    pub(crate) fn text(&mut self, path: &Path) -> Result<String, CannotWrite> {
        self.open(path)?;
        Ok(self.texts[path].new.clone())
    }

    fn open(&mut self, path: &Path) -> Result<(), CannotWrite> {
        if self.texts.contains_key(path) {
            return Ok(());
        }
        let readable = is_the_users(path).then(|| self.files.read(path)).flatten();
        let old = readable.ok_or_else(|| {
            CannotWrite::new(format!("{} is not a file of yours", path.display()), "Make the change where you call it.")
        })?;
        let text = Text { new: old.clone(), anchors: Anchors::new(&old), old };
        self.texts.insert(path.to_path_buf(), text);
        Ok(())
    }

    fn with_page<T>(
        &mut self,
        path: &Path,
        ask: impl for<'f, 'a> FnOnce(Page<'f, 'a>) -> T,
    ) -> Result<(T, Source), CannotWrite> {
        self.open(path)?;
        let text = &self.texts[path];
        let source = Source::script(path, text.new.clone());
        let parsed = parse::script(source.text());
        let broken = || CannotWrite::new(format!("{} does not parse", path.display()), "Mend its syntax first.");
        if parsed.has_errors() {
            parsed.forget();
            return Err(broken());
        }
        let project = Project::default();
        let answer = {
            let facts = Facts::new(&source, &parsed, &project).map_err(|_| broken())?;
            ask(Page { facts: &facts, anchors: &text.anchors })
        };
        Ok((answer, source))
    }

    pub(crate) fn set_environment(&mut self, name: &str, value: &str) {
        self.patch.environment.retain(|(known, _)| known != name);
        self.patch.environment.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.patch.notes.contains(&note) {
            self.patch.notes.push(note);
        }
    }

    /// The arguments of the script with the changes so far.
    pub(crate) fn arguments(&self) -> Vec<String> {
        self.patch.command.clone().unwrap_or_else(|| self.files.arguments().to_vec())
    }

    pub(crate) fn set_arguments(&mut self, arguments: Vec<String>) {
        self.patch.command = Some(arguments);
    }

    pub(crate) fn finish(mut self) -> Patch {
        let changed = self.texts.into_iter().filter(|(_, text)| text.old != text.new);
        self.patch.files = changed.map(|(path, text)| (path, text.old, text.new)).collect();
        self.patch
    }
}

impl Script {
    /// Every line of code that was seen at work.
    fn places(&self) -> impl Iterator<Item = &Place> {
        let training = [&self.training.backward_at, &self.training.step_at, &self.training.zero_grad_at];
        let models = self
            .models
            .iter()
            .flat_map(|m| [&m.made_at, &m.base_made_at].into_iter().chain(m.blocks.iter().map(|b| &b.defined_at)));
        let optimizers = self.optimizers.iter().map(|o| &o.made_at);
        let loaders = self.loaders.iter().map(|l| &l.made_at);
        let loss = self.loss.iter().map(|l| &l.at);
        training.into_iter().chain(models).chain(optimizers).chain(loaders).chain(loss).flatten()
    }
}

/// Libraries are not edited.
pub(crate) fn is_the_users(path: &Path) -> bool {
    let text = path.to_string_lossy();
    !text.contains("site-packages") && !text.contains("dist-packages") && !text.contains("/lib/python3")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lint::parse::TextRange;

    #[test]
    fn lines_are_found_again_after_edits() {
        let mut anchors = Anchors::new("a = 1\n  b = 2\nc = 3\n");
        assert_eq!(anchors.at(2), Some(8.into()));
        anchors.shift(&[Edit::insert(0.into(), "import x\n"), Edit::delete(TextRange::new(0.into(), 1.into()))]);
        assert_eq!(anchors.at(2), Some(16.into()));
        assert_eq!(anchors.at(4), None);
    }
}
