//! Follows the event files of a session as they grow.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::events::Event;

/// A folder of JSON-lines files, read as far as they have been written.
#[derive(Debug)]
pub struct Tail {
    folder: PathBuf,
    files: BTreeMap<PathBuf, Position>,
    /// Whole lines that are not events: the Python side broke its word.
    pub unreadable: usize,
}

#[derive(Debug, Default)]
struct Position {
    read: u64,
    /// A line whose end has not been written yet.
    partial: Vec<u8>,
}

impl Tail {
    pub fn new(folder: &Path) -> Tail {
        Tail { folder: folder.to_owned(), files: BTreeMap::new(), unreadable: 0 }
    }

    /// What came since the last call, each event with the file (the process) it came from.
    pub fn poll(&mut self) -> Vec<(PathBuf, Event)> {
        let mut events = Vec::new();
        for file in self.jsonl_files() {
            let position = self.files.entry(file.clone()).or_default();
            for line in position.new_lines(&file) {
                match serde_json::from_slice(&line) {
                    Ok(event) => events.push((file.clone(), event)),
                    Err(_) => self.unreadable += 1,
                }
            }
        }
        events
    }

    fn jsonl_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
            .collect();
        files.sort();
        files
    }
}

impl Position {
    fn new_lines(&mut self, path: &Path) -> Vec<Vec<u8>> {
        // A file that vanished or cannot be read has nothing new; the next poll tries again.
        let Ok(count) = self.read_on(path) else {
            return Vec::new();
        };
        self.read += count as u64;
        let Some(end) = self.partial.iter().rposition(|&byte| byte == b'\n') else {
            return Vec::new();
        };
        let rest = self.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial, rest);
        whole.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
    }

    fn read_on(&mut self, path: &Path) -> std::io::Result<usize> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.read))?;
        file.read_to_end(&mut self.partial)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_line_counts_once_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = File::create(folder.path().join("7.jsonl")).unwrap();
        let mut tail = Tail::new(folder.path());
        assert_eq!(tail.poll().len(), 0);

        write!(file, "{{\"event\":\"created\",\"path\":\"a\"}}\n{{\"event\":\"crea").unwrap();
        assert_eq!(tail.poll().len(), 1);
        writeln!(file, "ted\",\"path\":\"b\"}}").unwrap();
        let events = tail.poll();
        assert!(matches!(&events[..], [(_, Event::Created { path })] if path == "b"));
        assert_eq!(tail.poll().len(), 0);
    }

    #[test]
    fn broken_lines_are_counted_and_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("1.jsonl"), "{\n\n{\"event\":\"created\",\"path\":\"a\"}\n").unwrap();
        let mut tail = Tail::new(folder.path());
        assert_eq!(tail.poll().len(), 1);
        assert_eq!(tail.unreadable, 1);
    }
}
