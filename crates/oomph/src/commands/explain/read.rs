//! Reads the files, as many at once as there are cores, and explains each before its memory is given back.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use report::explained::Explained;
use snapshot::Input;

use super::evidence::{Asked, Run};
use super::files::Source;
use crate::error::Error;
use crate::output;
use crate::progress::Progress;

/// One explanation per run, in the order of the files.
pub fn runs(sources: &[Source], asked: &Asked) -> Result<Vec<Explained>, Error> {
    let progress = Progress::new(sources.len());
    let explain = |run: &Run| run.explain(asked);
    let result = match sources {
        [source] => read(source, 0, &progress).and_then(|run| Ok(vec![explain(&run)?])),
        several => side_by_side(several, &progress, &explain),
    };
    progress.finish();
    result
}

type Explain<'a> = dyn Fn(&Run) -> Result<Explained, Error> + Sync + 'a;

/// Logs and results of tries are small and wait for the snapshot of the same run; snapshots are large and do not wait
/// for each other.
fn side_by_side(sources: &[Source], progress: &Progress, explain: &Explain) -> Result<Vec<Explained>, Error> {
    let (snapshots, small): (Vec<_>, Vec<_>) = sources.iter().enumerate().partition(|(_, source)| source.is_large());
    let mut beside = Vec::new();
    let mut failed = Vec::new();
    for (index, source) in small {
        match read(source, index, progress) {
            Ok(run) => beside.push((index, run)),
            Err(error) => failed.push((source, error)),
        }
    }
    let alone = snapshots.len() == 1;
    let waiting = Mutex::new(beside);
    let work = |(index, source): (usize, &Source)| -> Result<Explained, Error> {
        let mut run = read(source, index, progress)?;
        if let Some(other) = take_same(&mut waiting.lock().unwrap_or_else(PoisonError::into_inner), &run, alone) {
            run.join(other);
        }
        explain(&run)
    };
    let mut explained = Vec::new();
    for ((index, source), result) in snapshots.iter().copied().zip(in_parallel(&snapshots, &work)) {
        match result {
            Ok(run) => explained.push((index, run)),
            Err(error) => failed.push((source, error)),
        }
    }
    for (index, run) in waiting.into_inner().unwrap_or_else(PoisonError::into_inner) {
        explained.push((index, explain(&run)?));
    }
    explained.sort_by_key(|(index, _)| *index);
    complain(failed, explained.is_empty())?;
    Ok(explained.into_iter().map(|(_, run)| run).collect())
}

/// A log beside a single snapshot is of the same run; beside several, ranks tell.
fn take_same(waiting: &mut Vec<(usize, Run)>, run: &Run, alone: bool) -> Option<Run> {
    let is_same = |other: &Run| alone || (run.rank.is_some() && run.rank == other.rank);
    let at = waiting.iter().position(|(_, other)| other.recording.is_none() && is_same(other))?;
    Some(waiting.remove(at).1)
}

/// What could not be read is said; if nothing could, that is the answer.
fn complain(failed: Vec<(&Source, Error)>, nothing: bool) -> Result<(), Error> {
    let mut failed = failed.into_iter();
    if nothing && let Some((_, error)) = failed.next() {
        return Err(error);
    }
    for (source, error) in failed {
        output::warn(&format!("{} is left out: {}", source.name, output::in_one_line(&error)));
    }
    Ok(())
}

fn in_parallel<'a, T: Send>(
    sources: &[(usize, &'a Source)],
    work: &(dyn Fn((usize, &'a Source)) -> T + Sync),
) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(sources.len());
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let worker = || {
        while let Some(&source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(source);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((source.0, result));
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(worker))));
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn read(source: &Source, index: usize, progress: &Progress) -> Result<Run, Error> {
    let input = |path: &Path| -> Result<Input, Error> {
        let named = |source| Error::Snapshot { path: path.to_owned(), source };
        snapshot::read_path(path, &|read, length| progress.report(index, read, length)).map_err(named)
    };
    Run::of(source, input(&source.path)?, &input)
}
