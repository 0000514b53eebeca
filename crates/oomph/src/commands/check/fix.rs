//! Writing fixed files: whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use lint::FixedFile;

use crate::error::Error;
use crate::output;

/// Writes every file, complains about those that could not be written, and gives their paths.
pub fn write_all(files: &[FixedFile]) -> Vec<PathBuf> {
    let failed = files.iter().filter_map(|file| {
        let source = write(file).err()?;
        output::complain(&Error::Io { doing: "write", path: file.path.clone(), source });
        Some(file.path.clone())
    });
    failed.collect()
}

fn write(file: &FixedFile) -> io::Result<()> {
    // A link stays a link: what it points to is replaced.
    let path = file.path.canonicalize()?;
    if std::fs::read(&path)? != file.before.as_bytes() {
        return Err(io::Error::other("it was changed while it was being checked"));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut written = tempfile::NamedTempFile::new_in(folder)?;
    written.write_all(file.after.as_bytes())?;
    written.as_file().set_permissions(std::fs::metadata(&path)?.permissions())?;
    written.persist(&path)?;
    Ok(())
}
