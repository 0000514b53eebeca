//! Packs the ghost library and the Python side into the command, so that one file is enough.
//!
//! The ghost is a cdylib, which cargo cannot hand over as a dependency: it is built here by a
//! nested cargo. `OOMPH_GHOST=<path>` names a library built beforehand instead.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let root = root.canonicalize().expect("the workspace is two folders up");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());

    println!("cargo:rerun-if-env-changed=OOMPH_GHOST");
    let ghost = match env::var_os("OOMPH_GHOST") {
        Some(path) => PathBuf::from(path),
        None => build_ghost(&root, &out),
    };
    println!("cargo:rerun-if-changed={}", ghost.display());

    let mut files = vec![("ghost/libghost.so".to_owned(), ghost)];
    files.extend(python_files(&root.join("python")));
    fs::write(out.join("payload.rs"), table(&files)).expect("OUT_DIR is writable");
}

fn build_ghost(root: &Path, out: &Path) -> PathBuf {
    for input in ["crates/ghost", "Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", root.join(input).display());
    }
    let target_dir = out.join("ghost");
    let target = env::var("TARGET").unwrap();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap());
    cargo
        .args(["build", "--quiet", "--release", "--package", "ghost", "--target", &target])
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir);
    if root.join("Cargo.lock").exists() {
        cargo.arg("--locked");
    }
    // Settings of the build around us would leak in: clippy's wrapper, for one, makes no library.
    for name in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS"] {
        cargo.env_remove(name);
    }
    let status = cargo.status().expect("cargo runs");
    assert!(status.success(), "building the ghost failed: {status}");
    target_dir.join(target).join("release/libghost.so")
}

/// `python/sitecustomize.py` and the package beside it, by their paths in the unpacked tree.
fn python_files(python: &Path) -> Vec<(String, PathBuf)> {
    println!("cargo:rerun-if-changed={}", python.join("sitecustomize.py").display());
    println!("cargo:rerun-if-changed={}", python.join("oomph").display());
    let mut files = vec![python.join("sitecustomize.py")];
    collect_py(&python.join("oomph"), &mut files);
    files.sort();
    let name = |file: &Path| {
        let inside = file.strip_prefix(python).expect("found under python/");
        format!("python/{}", inside.display())
    };
    files.into_iter().map(|file| (name(&file), file)).collect()
}

fn collect_py(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("python/oomph is a folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect_py(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "py") {
            files.push(path);
        }
    }
}

/// `payload.rs`: the files with their bytes, and a hash over all of them.
fn table(files: &[(String, PathBuf)]) -> String {
    let mut hash = Fnv::new();
    let mut source = String::from("pub static FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        hash.add(name.as_bytes());
        hash.add(&bytes);
        let _ = writeln!(source, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    let _ = writeln!(source, "];\npub const HASH: &str = \"{:016x}\";", hash.0);
    source
}

/// FNV-1a, 64 bits: tells builds apart in the cache, guards against nothing.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
