//! The ghost library and the Python side, carried inside the command and unpacked once per version.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/payload.rs"));
}

/// The names under which programs look for what the ghost replaces. Links to one file: the loader
/// sees one inode and loads it once.
const GHOST_NAMES: [&str; 3] = ["libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"];
const GHOST: &str = "ghost/libghost.so";

/// The unpacked tree.
#[derive(Debug, Clone)]
pub struct Payload {
    root: PathBuf,
}

impl Payload {
    /// Unpacks into the cache, or into `fallback` where the cache cannot be written.
    pub fn unpack(fallback: &Path) -> io::Result<Payload> {
        Payload::unpack_into_cache().or_else(|_| unpack_into(fallback).map(|root| Payload { root }))
    }

    pub fn unpack_into_cache() -> io::Result<Payload> {
        let cache = cache_folder().ok_or(io::ErrorKind::NotFound)?;
        unpack_into(&cache).map(|root| Payload { root })
    }

    /// The folder to preload and search the ghost in.
    pub fn ghost_folder(&self) -> PathBuf {
        self.root.join("ghost")
    }

    pub fn ghost(&self) -> PathBuf {
        self.root.join(GHOST)
    }

    /// The folder for `PYTHONPATH`.
    pub fn python_folder(&self) -> PathBuf {
        self.root.join("python")
    }
}

/// The ghost library's bytes, to look into without unpacking.
pub fn ghost_bytes() -> &'static [u8] {
    let ghost = embedded::FILES.iter().find(|(name, _)| *name == GHOST);
    ghost.expect("the build packs the ghost").1
}

/// `$XDG_CACHE_HOME/oomph`, or `~/.cache/oomph`.
pub fn cache_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("oomph"))
}

/// Makes `<parent>/<version>-<hash>` unless it is there already. It appears whole, by a rename, so
/// that two tries starting at once cannot see each other's half-written files.
fn unpack_into(parent: &Path) -> io::Result<PathBuf> {
    let root = parent.join(format!("{}-{}", env!("CARGO_PKG_VERSION"), embedded::HASH));
    if is_whole(&root) {
        return Ok(root);
    }
    fs::create_dir_all(parent)?;
    let fresh = tempfile::Builder::new().prefix(".unpack-").tempdir_in(parent)?;
    write_files(fresh.path())?;
    if root.exists() {
        // A cleaner took some of the files: move the rest out of the way, to be deleted with `old`.
        let old = tempfile::Builder::new().prefix(".old-").tempdir_in(parent)?;
        fs::rename(&root, old.path().join("damaged"))?;
    }
    match fs::rename(fresh.path(), &root) {
        Ok(()) => drop(fresh.keep()),
        Err(_) if is_whole(&root) => {}
        Err(error) => return Err(error),
    }
    Ok(root)
}

fn is_whole(root: &Path) -> bool {
    let same_length = |(name, bytes): &(&str, &[u8])| {
        fs::metadata(root.join(name)).is_ok_and(|found| found.len() == bytes.len() as u64)
    };
    let linked = |name: &&str| fs::metadata(root.join("ghost").join(name)).is_ok();
    embedded::FILES.iter().all(same_length) && GHOST_NAMES.iter().all(linked)
}

fn write_files(root: &Path) -> io::Result<()> {
    fs::set_permissions(root, fs::Permissions::from_mode(0o755))?;
    for (name, bytes) in embedded::FILES {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("every name has a folder"))?;
        fs::write(path, bytes)?;
    }
    for name in GHOST_NAMES {
        symlink("libghost.so", root.join("ghost").join(name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacking_twice_gives_the_same_whole_tree() {
        let parent = tempfile::tempdir().unwrap();
        let first = unpack_into(parent.path()).unwrap();
        assert!(is_whole(&first));
        assert!(first.join("python/sitecustomize.py").is_file());
        assert_eq!(unpack_into(parent.path()).unwrap(), first);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn a_damaged_tree_is_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let root = unpack_into(parent.path()).unwrap();
        fs::write(root.join("python/sitecustomize.py"), "").unwrap();
        fs::remove_file(root.join("ghost/libcuda.so")).unwrap();
        assert_eq!(unpack_into(parent.path()).unwrap(), root);
        assert!(is_whole(&root));
    }

    #[test]
    fn an_unwritable_cache_falls_back() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("a-file");
        fs::write(&file, "").unwrap();
        assert!(unpack_into(&file).is_err());
    }
}
