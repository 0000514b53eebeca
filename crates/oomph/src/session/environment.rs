//! The environment that turns a plain `python train.py` into a try.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::payload::Payload;

/// Variables to set, and with `None` to remove.
pub type Environment = Vec<(&'static str, Option<OsString>)>;

pub fn environment(payload: &Payload, session: &Path) -> Environment {
    let ghost = payload.ghost_folder();
    vec![
        ("LD_PRELOAD", Some(in_front_of("LD_PRELOAD", payload.ghost()))),
        ("LD_LIBRARY_PATH", Some(in_front_of("LD_LIBRARY_PATH", ghost.clone()))),
        // Triton asks ldconfig for the driver otherwise, and there is none.
        ("TRITON_LIBCUDA_PATH", Some(ghost.into())),
        ("PYTHONPATH", Some(in_front_of("PYTHONPATH", payload.python_folder()))),
        ("GHOST_CARD", Some(session.join("card.txt").into())),
        ("OOMPH_SESSION", Some(session.into())),
        // Big host tensors then always are fresh pages, which cost nothing until they are touched.
        ("MALLOC_MMAP_THRESHOLD_", Some("1048576".into())),
        ("PYTHONUNBUFFERED", Some("1".into())),
        // Two tries of one script should take the same way through it.
        ("PYTHONHASHSEED", Some(std::env::var_os("PYTHONHASHSEED").unwrap_or_else(|| "0".into()))),
        // What is compiled here is tuned for no card: it stays out of the caches that real runs use.
        ("USE_PYTORCH_KERNEL_CACHE", Some("0".into())),
        ("TORCHINDUCTOR_CACHE_DIR", Some(session.join("compiled").into())),
        ("TRITON_CACHE_DIR", Some(session.join("compiled").join("triton").into())),
        // It picks among real cards; of the ghost's there is always the one asked for.
        ("CUDA_VISIBLE_DEVICES", None),
    ]
}

fn in_front_of(variable: &str, path: PathBuf) -> OsString {
    joined(path, std::env::var_os(variable).as_deref())
}

fn joined(path: PathBuf, existing: Option<&OsStr>) -> OsString {
    let mut value = path.into_os_string();
    if let Some(existing) = existing.filter(|existing| !existing.is_empty()) {
        value.push(":");
        value.push(existing);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_stays_behind_ours() {
        assert_eq!(joined("a".into(), Some("b:c".as_ref())), "a:b:c");
        assert_eq!(joined("a".into(), Some("".as_ref())), "a", "an empty part would mean the current directory");
        assert_eq!(joined("a".into(), None), "a");
    }
}
