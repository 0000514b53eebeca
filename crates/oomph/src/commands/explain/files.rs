//! What the user named: files, folders of ranks, patterns that the shell left alone, a pipe.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// One thing to read, and how to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    pub name: String,
}

impl Source {
    fn new(path: &Path) -> Source {
        Source { path: path.to_owned(), name: path.display().to_string() }
    }

    /// Looks like a pickle or something compressed, so that it should not wait in memory for other files. A pipe cannot
    /// be looked at without taking from it.
    pub fn is_large(&self) -> bool {
        let mut first = [0];
        let is_file = self.path.is_file() && self.path != Path::new(STDIN);
        let mut read = || std::fs::File::open(&self.path)?.read_exact(&mut first);
        is_file && read().is_ok() && matches!(first[0], 0x80 | 0x1f | 0xfd | 0x28)
    }
}

/// Linux gives every process its input under this name, pipe or file.
const STDIN: &str = "/dev/stdin";

pub fn sources(named: &[PathBuf]) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    for path in named {
        sources.extend(expand(path)?);
    }
    Ok(sources)
}

fn expand(path: &Path) -> Result<Vec<Source>, Error> {
    if path == Path::new("-") {
        if io::stdin().is_terminal() {
            return Err(Error::NothingPiped);
        }
        return Ok(vec![Source { path: STDIN.into(), name: "standard input".into() }]);
    }
    if path.is_dir() {
        let inside = matching(path, is_evidence)?;
        return if inside.is_empty() { Err(Error::NoSnapshots(path.to_owned())) } else { Ok(inside) };
    }
    if path.exists() {
        return Ok(vec![Source::new(path)]);
    }
    let pattern = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    if !pattern.contains(['*', '?']) {
        return Err(Error::NoFile(path.to_owned()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = matching(folder, |name| matches(&pattern, name))?;
    if found.is_empty() { Err(Error::NoFile(path.to_owned())) } else { Ok(found) }
}

/// Files right in a folder whose names will do, with numbers in their order: rank 10 comes after rank 9.
fn matching(folder: &Path, will_do: impl Fn(&str) -> bool) -> Result<Vec<Source>, Error> {
    let failed = |source| Error::Io { doing: "look into", path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default().into_owned();
        if will_do(&name) && path.is_file() {
            found.push((natural(&name), Source::new(&path)));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found.into_iter().map(|(_, source)| source).collect())
}

/// Names that snapshots have. What a file is, its content says; a folder has much else in it.
fn is_evidence(name: &str) -> bool {
    let name = [".gz", ".xz", ".zst"].iter().fold(name, |name, ending| name.strip_suffix(ending).unwrap_or(name));
    name.ends_with(".pickle") || name.ends_with(".pkl")
}

/// `*` is anything and `?` one character. Greedy with one step back, so that no pattern is slow.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut from) = (0, 0);
    let mut star = None;
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(&c) if c == '?' || c == name[from] => (at, from) = (at + 1, from + 1),
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                (at, from) = (star_at + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|&c| c == '*')
}

/// Text and numbers in turn, so that numbers sort by value.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let after = &rest[text..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        parts.push((rest[..text].to_owned(), after[..digits].parse().unwrap_or(0)));
        rest = &after[digits..];
    }
    parts
}

/// The rank that a file's name has in it: `rank3.pickle`, `snapshot_rank_12.pickle.gz`, `rank-0/oom.pickle`.
pub fn rank_in(name: &str) -> Option<u32> {
    let lower = name.to_ascii_lowercase();
    let after =
        lower.match_indices("rank").map(|(at, word)| lower[at + word.len()..].trim_start_matches(['_', '-', '.', '=']));
    after.filter_map(|rest| rest[..rest.bytes().take_while(u8::is_ascii_digit).count()].parse().ok()).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*.pickle", "rank0.pickle", true),
            ("rank?.pickle", "rank0.pickle", true),
            ("rank?.pickle", "rank10.pickle", false),
            ("*a*b", "xaab", true),
            ("*a*b", "xaac", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn ranks_come_in_their_order() {
        let mut names = ["rank10.pickle", "rank9.pickle", "rank1.pickle"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["rank1.pickle", "rank9.pickle", "rank10.pickle"]);
    }

    #[test]
    fn ranks_in_names() {
        assert_eq!(rank_in("out/snapshot_rank_12.pickle.gz"), Some(12));
        assert_eq!(rank_in("Rank3.pickle"), Some(3));
        assert_eq!(rank_in("a.pickle"), None);
    }

    #[test]
    fn a_folder_gives_its_snapshots() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["rank2.pickle", "rank10.pickle.xz", "train.py", "notes.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = expand(folder.path()).unwrap();
        let names: Vec<_> = found.iter().map(|source| source.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["rank2.pickle", "rank10.pickle.xz"]);
        assert!(matches!(expand(&folder.path().join("rank7.pickle")), Err(Error::NoFile(_))));
        assert_eq!(expand(&folder.path().join("rank*.xz")).unwrap().len(), 1);
    }
}
