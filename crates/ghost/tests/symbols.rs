//! Every NVIDIA symbol that PyTorch's libraries import is exported by the ghost.
//!
//! Looks at the PyTorch of `GHOST_TEST_VENV`, or of the checkout's `.venv`, and at the library that was
//! built last; `make setup` makes both.

use object::{Object, ObjectSymbol, ReadCache};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The libraries, by how their names begin. cuDNN is not among them: what the ghost does not answer
/// itself, the real cuDNN does, for it works without a card.
const LIBRARIES: [&str; 12] = [
    "cuFile", "cublas", "cuda", "cufft", "cupti", "curand", "cusolver", "cusparse", "nccl", "nvml", "nvrtc", "nvshmem",
];

fn is_nvidia(name: &str) -> bool {
    LIBRARIES.iter().any(|prefix| name.starts_with(prefix)) || name.starts_with("__cuda") || is_driver(name)
}

/// The driver's names: `cuMemCreate`, but not `custom_thing`.
fn is_driver(name: &str) -> bool {
    name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The dynamic symbols that satisfy a test. Libraries of gigabytes are read only where their symbols lie.
fn symbols(library: &Path, wanted: fn(&object::Symbol<&ReadCache<File>>) -> bool) -> BTreeSet<String> {
    let cache = ReadCache::new(File::open(library).expect("the library opens"));
    let Ok(file) = object::File::parse(&cache) else { return BTreeSet::new() };
    file.dynamic_symbols().filter(wanted).filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect()
}

/// Weak references may stay open; PyTorch looks before it calls.
fn imported(library: &Path) -> BTreeSet<String> {
    symbols(library, |symbol| symbol.is_undefined() && !symbol.is_weak())
}

fn exported(library: &Path) -> BTreeSet<String> {
    symbols(library, |symbol| symbol.is_definition())
}

/// The newest ghost library under the target folder: cargo does not build a cdylib for its own tests.
fn ghost() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let mut found = Vec::new();
    collect(target, &mut found);
    let newest = found.into_iter().max_by_key(|path| fs::metadata(path).and_then(|data| data.modified()).ok());
    newest.expect("a ghost library under target: run `make setup` first")
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, found);
        } else if path.ends_with("libghost.so") {
            found.push(path);
        }
    }
}

fn torch_libraries() -> Vec<PathBuf> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    let venv = std::env::var_os("GHOST_TEST_VENV").map_or(checkout, PathBuf::from);
    let Ok(pythons) = fs::read_dir(venv.join("lib")) else { return Vec::new() };
    pythons
        .flatten()
        .filter_map(|python| fs::read_dir(python.path().join("site-packages/torch/lib")).ok())
        .flat_map(|libraries| libraries.flatten().map(|library| library.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "so"))
        .collect()
}

#[test]
fn the_ghost_exports_what_torch_imports() {
    let wanted: BTreeSet<String> = torch_libraries().iter().flat_map(|library| imported(library)).collect();
    assert!(!wanted.is_empty(), "no torch in .venv: run `make setup` first, or name one in GHOST_TEST_VENV");
    let given = exported(&ghost());
    let missing: Vec<_> = wanted.iter().filter(|name| is_nvidia(name) && !given.contains(*name)).collect();
    assert!(missing.is_empty(), "{} symbols are missing: {missing:#?}", missing.len());
}

#[test]
fn names_are_told_apart() {
    assert!(is_nvidia("cuMemCreate") && is_nvidia("__cudaRegisterFatBinary") && is_nvidia("cublasLtMatmul"));
    assert!(!is_nvidia("cungqr_") && !is_nvidia("custom_op"));
}
