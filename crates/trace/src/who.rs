//! Whose line it was: frames of a stack, told apart by where their file lies.

use crate::{AllocationId, Allocations, Category, Frame, FrameId, Frames, NameId, Names, Purposes, Recording, StackId};

/// Python frames name a `.py` file or something like `<stdin>`; C++ frames a source file, a library or nothing.
pub fn is_python(file: &str) -> bool {
    file.ends_with(".py") || (file.starts_with('<') && file.ends_with('>'))
}

/// Installed packages, the standard library and PyTorch itself, also when a path was cut short.
pub fn is_library(file: &str) -> bool {
    let file = forward_slashes(file);
    file.starts_with("<frozen")
        || has_folder(&file, "site-packages")
        || has_folder(&file, "dist-packages")
        || file.starts_with("torch/")
        || file.contains("/lib/python3")
        || file.contains("/Lib/") && file.contains("Python3")
}

pub(crate) fn forward_slashes(file: &str) -> std::borrow::Cow<'_, str> {
    if file.contains('\\') { file.replace('\\', "/").into() } else { file.into() }
}

fn has_folder(path: &str, folder: &str) -> bool {
    path.split('/').any(|part| part == folder)
}

/// What a frame's file says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Native,
    Library,
    User,
}

/// Which frames of each stack matter to the reader of a report. Looks at each frame's file once.
#[derive(Debug, Clone)]
pub struct Who {
    owners: Vec<Owner>,
}

impl Who {
    pub fn of(recording: &Recording) -> Who {
        let Recording { names, frames, .. } = recording;
        Who { owners: (0..frames.len()).map(|at| owner(names, frames.get(FrameId::from_index(at)))).collect() }
    }

    pub fn is_python(&self, frame: FrameId) -> bool {
        self.owners[frame.index()] != Owner::Native
    }

    pub fn is_users(&self, frame: FrameId) -> bool {
        self.owners[frame.index()] == Owner::User
    }

    /// The user's innermost line, or the innermost Python line where all are a library's.
    pub fn line(&self, recording: &Recording, stack: StackId) -> Option<FrameId> {
        let frames = recording.stacks.get(stack);
        let users = frames.iter().copied().find(|&frame| self.is_users(frame));
        users.or_else(|| self.innermost_python(recording, stack))
    }

    pub fn innermost_python(&self, recording: &Recording, stack: StackId) -> Option<FrameId> {
        recording.stacks.get(stack).iter().copied().find(|&frame| self.is_python(frame))
    }

    /// The Python frames, innermost first.
    pub fn python<'a>(&'a self, recording: &'a Recording, stack: StackId) -> impl Iterator<Item = FrameId> + 'a {
        recording.stacks.get(stack).iter().copied().filter(|&frame| self.is_python(frame))
    }
}

fn owner(names: &Names, frame: Frame) -> Owner {
    let file = names.get(frame.file);
    match (is_python(file), is_library(file)) {
        (false, _) => Owner::Native,
        (true, true) => Owner::Library,
        (true, false) if file == "<string>" => Owner::Library,
        (true, false) => Owner::User,
    }
}

/// Allocations that have something in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group<K> {
    pub key: K,
    /// Of blocks.
    pub bytes: u64,
    pub count: usize,
}

/// Sums up allocations by what `key` says of each, largest first.
pub fn grouped<K: Copy + Ord>(
    allocations: &Allocations,
    ids: &[AllocationId],
    key: impl Fn(AllocationId) -> K,
) -> Vec<Group<K>> {
    let mut groups: std::collections::BTreeMap<K, (u64, usize)> = std::collections::BTreeMap::new();
    for &id in ids {
        let (bytes, count) = groups.entry(key(id)).or_default();
        *bytes = bytes.saturating_add(allocations.size(id));
        *count += 1;
    }
    let mut groups: Vec<Group<K>> =
        groups.into_iter().map(|(key, (bytes, count))| Group { key, bytes, count }).collect();
    groups.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.key.cmp(&b.key)));
    groups
}

pub fn by_category(allocations: &Allocations, purposes: &Purposes, ids: &[AllocationId]) -> Vec<Group<Category>> {
    grouped(allocations, ids, |id| purposes.get(id).category)
}

/// By module or parameter; `NameId::EMPTY` for those without a name.
pub fn by_module(allocations: &Allocations, purposes: &Purposes, ids: &[AllocationId]) -> Vec<Group<NameId>> {
    grouped(allocations, ids, |id| purposes.get(id).module)
}

/// By the user's line; `None` for those without a Python stack.
pub fn by_line(
    recording: &Recording,
    who: &Who,
    allocations: &Allocations,
    ids: &[AllocationId],
) -> Vec<Group<Option<FrameId>>> {
    grouped(allocations, ids, |id| who.line(recording, allocations.stack(id)))
}

/// The text of a frame: function, file and line.
pub fn frame_text<'a>(names: &'a Names, frames: &Frames, id: FrameId) -> (&'a str, &'a str, u32) {
    let Frame { function, file, line } = frames.get(id);
    (names.get(function), names.get(file), line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_libraries_from_the_users_files() {
        for file in [
            "site-packages/torch/nn/modules/linear.py",
            "/home/me/.venv/lib/python3.11/site-packages/transformers/trainer.py",
            "/usr/lib/python3/dist-packages/x.py",
            "/usr/lib/python3.12/threading.py",
            "torch/optim/adam.py",
            "<frozen runpy>",
            r"C:\Users\me\venv\Lib\site-packages\torch\nn\functional.py",
        ] {
            assert!(is_library(file) && is_python(file), "{file}");
        }
        for file in
            ["train.py", "../oom/o01_batch.py", "/home/me/torch-tricks/site.py", "<stdin>", "/tmp/ipykernel_7/1.py"]
        {
            assert!(!is_library(file) && is_python(file), "{file}");
        }
        for file in ["??", "", "RegisterCUDA_0.cpp", "/lib/x86_64-linux-gnu/libc.so.6"] {
            assert!(!is_python(file), "{file}");
        }
    }

    #[test]
    fn finds_the_users_line() {
        let mut recording = Recording::default();
        let mut frame = |function: &str, file: &str, line| {
            let (function, file) = (recording.names.intern(function), recording.names.intern(file));
            recording.frames.intern(Frame { function, file, line })
        };
        let native = frame("at::empty", "??", 0);
        let linear = frame("forward", "site-packages/torch/nn/modules/linear.py", 134);
        let block = frame("forward", "model.py", 9);
        let script = frame("<module>", "train.py", 3);
        let mixed = recording.stacks.push(&[native, linear, block, script]);
        let library = recording.stacks.push(&[native, linear]);
        let none = recording.stacks.push(&[native]);
        let who = Who::of(&recording);
        assert_eq!(who.line(&recording, mixed), Some(block));
        assert_eq!(who.line(&recording, library), Some(linear));
        assert_eq!(who.line(&recording, none), None);
        assert_eq!(who.line(&recording, StackId::EMPTY), None);
        assert_eq!(who.python(&recording, mixed).count(), 3);
    }
}
