//! Takes back what a script made: files first, then the folders that are empty without them.

use std::fs;
use std::path::{Path, PathBuf};

/// Deletes new files and empty new folders. Links are deleted, never followed; what cannot be
/// deleted stays, since the try has its answer either way.
pub fn remove(created: &[PathBuf]) {
    let (mut folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        created.iter().filter(|path| path.is_absolute()).partition(|path| is_folder(path));
    for file in files {
        let _ = fs::remove_file(file);
    }
    // Inner folders have more components, so they go before the ones around them.
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        let _ = fs::remove_dir(folder);
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_things_go_and_old_things_stay() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::create_dir_all(path("new/inner")).unwrap();
        fs::create_dir(path("shared")).unwrap();
        for file in ["new/inner/model.pt", "shared/theirs", "shared/ours", "precious"] {
            fs::write(path(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(path("precious"), path("link")).unwrap();

        let created = ["new", "new/inner", "new/inner/model.pt", "shared", "shared/ours", "link", "gone"];
        remove(&created.map(path));

        assert!(!path("new").exists());
        assert!(!path("shared/ours").exists());
        assert!(fs::symlink_metadata(path("link")).is_err());
        assert!(path("shared/theirs").exists(), "a folder with someone else's file stays");
        assert!(path("precious").exists(), "links are not followed");
    }

    #[test]
    fn relative_paths_are_left_alone() {
        remove(&[PathBuf::from("Cargo.toml")]);
        assert!(Path::new("Cargo.toml").exists());
    }
}
