//! Files as people have them: told by their content, not by their name.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use trace::Recording;

use crate::compression::{Opened, open};
use crate::content::{Content, ENOUGH};
use crate::error::Error;
use crate::log::{self, Log};
use crate::recording::{Counted, no_snapshot, read_opened};
use crate::tried::{self, TryResult};

/// What a file turned out to be.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one for a file, and recordings are what most files are")]
pub enum Input {
    Recording(Recording),
    /// Text, with what it says about running out of memory.
    Log(Log),
    /// What `oomph try --json` printed.
    Tried(Box<TryResult>),
}

/// Reads a file, whatever it is. `progress` is told how many bytes of it were read, and of how many.
pub fn read_path(path: &Path, progress: &dyn Fn(u64, Option<u64>)) -> Result<Input, Error> {
    let cannot_open = |source| Error::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(cannot_open)?;
    let about = file.metadata().map_err(cannot_open)?;
    if about.is_dir() {
        return Err(Error::NotSnapshot { found: "a folder".to_owned() });
    }
    // A pipe has no length.
    let length = about.is_file().then_some(about.len());
    let count = AtomicU64::new(0);
    let opened = open(Counted { source: file, count: &count })?;
    let input = read(opened, &count, &|read| progress(read, length))?;
    progress(count.load(Ordering::Relaxed), length);
    Ok(input)
}

/// One reader for each kind of content.
fn read(opened: Opened, count: &AtomicU64, progress: &dyn Fn(u64)) -> Result<Input, Error> {
    match opened.content {
        Content::Pickle => read_opened(opened, count, progress).map(Input::Recording),
        Content::Text => read_log(opened, count, progress),
        Content::Json => read_json(opened, count, progress),
        other => Err(no_snapshot(other)),
    }
}

fn read_log(opened: Opened, count: &AtomicU64, progress: &dyn Fn(u64)) -> Result<Input, Error> {
    let told = |_| progress(count.load(Ordering::Relaxed));
    Ok(Input::Log(log::read(opened.bytes, &told)?))
}

/// Our own results, or else a log of one object a line, or a notebook.
fn read_json(mut opened: Opened, count: &AtomicU64, progress: &dyn Fn(u64)) -> Result<Input, Error> {
    let mut start = Vec::new();
    opened.bytes.by_ref().take(ENOUGH as u64).read_to_end(&mut start)?;
    let is_result = tried::begins_like_one(&start);
    opened.bytes = Box::new(Cursor::new(start).chain(opened.bytes));
    if is_result {
        return Ok(Input::Tried(Box::new(tried::read(opened.bytes)?)));
    }
    read_log(opened, count, progress)
}

/// Reads the files of several ranks side by side; results come in the order of the paths.
pub fn read_all(paths: &[impl AsRef<Path> + Sync]) -> Vec<Result<Input, Error>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len());
    let next = AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        paths.get(at).map(|path| (at, path.as_ref()))
    };
    let work = || {
        let mine = std::iter::from_fn(take);
        mine.map(|(at, path)| (at, read_path(path, &|_, _| ()))).collect::<Vec<_>>()
    };
    let mut results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
