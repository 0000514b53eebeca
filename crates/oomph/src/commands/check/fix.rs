//! Writing fixed files: whole or not at all.

use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lint::FixedFile;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::error::Error;
use crate::exit::ExitStatus;
use crate::output;

#[derive(Default)]
pub struct Written {
    /// Those that are as they were.
    pub failed: Vec<PathBuf>,
    /// A signal came before the end.
    pub interrupted: Option<ExitStatus>,
}

/// Writes every file and complains about those that could not be written. Ctrl-C ends it between two files.
pub fn write_all(files: &[FixedFile]) -> Result<Written, Error> {
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM] {
        signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)
            .map_err(|source| Error::Io { doing: "watch signals for", path: PathBuf::from("."), source })?;
    }
    let mut written = Written::default();
    for file in files {
        let number = signal.load(Ordering::Relaxed) as i32;
        if number != 0 {
            written.interrupted = Some(ExitStatus::Signal(number));
            written.failed.push(file.path.clone());
        } else if let Err(source) = write(file) {
            output::complain(&Error::Io { doing: "write", path: file.path.clone(), source });
            written.failed.push(file.path.clone());
        }
    }
    Ok(written)
}

fn write(file: &FixedFile) -> io::Result<()> {
    // A link stays a link: what it points to is replaced.
    let path = file.path.canonicalize()?;
    let meta = std::fs::metadata(&path)?;
    // Replacing it would work, but is not what its owner wants.
    if meta.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    if std::fs::read(&path)? != file.before.as_bytes() {
        return Err(io::Error::other("it was changed while it was being checked"));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut written = tempfile::NamedTempFile::new_in(folder)?;
    written.write_all(file.after.as_bytes())?;
    written.as_file().set_permissions(meta.permissions())?;
    // Only root may give files away, and only for root would the owner change.
    let _ = chown(written.path(), Some(meta.uid()), Some(meta.gid()));
    written.persist(&path)?;
    Ok(())
}
