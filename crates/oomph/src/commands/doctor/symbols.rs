//! Whether the ghost answers every NVIDIA function that this torch imports.
//!
//! Compares names only, in the files: nothing is loaded.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use object::read::{ReadCache, ReadRef};
use object::{Object, ObjectSymbol};

use super::check::{Check, Found, Place};
use crate::payload;

pub const COMPLETE: Check = Check { id: "ghost.symbols", title: "NVIDIA functions", run: complete };

/// How the functions begin that the ghost stands in for, beside the driver's. What is not here (nvJitLink, NVSHMEM,
/// NVTX) is loaded as it is, and training scripts get by without.
const REPLACED: &[&str] =
    &["cuda", "__cuda", "cublas", "cudnn", "cufft", "cupti", "curand", "cusolver", "cusparse", "nccl", "nvml", "nvrtc"];
const MISSING_SHOWN: usize = 12;

fn complete(place: &Place) -> Found {
    let torch = match place.torch() {
        Ok(torch) => torch,
        Err(skip) => return skip,
    };
    let imports = imports(&torch.folder.join("lib"));
    if imports.is_empty() {
        return Found::Skip("this torch's libraries import nothing of NVIDIA's".into());
    }
    let exports = names(payload::ghost_bytes(), Side::Exports);
    let missing: Vec<&str> = imports.difference(&exports).map(String::as_str).collect();
    if missing.is_empty() {
        return Found::Pass(format!("all {} are there", imports.len()));
    }
    Found::Fail(
        format!("{} of {} are missing: {}", missing.len(), imports.len(), listed(&missing)),
        "use a torch version from the list in the README; a script that calls none of these still works".into(),
    )
}

fn listed(missing: &[&str]) -> String {
    let shown = missing.iter().take(MISSING_SHOWN).copied().collect::<Vec<_>>().join(", ");
    match missing.len().checked_sub(MISSING_SHOWN) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ => shown,
    }
}

/// What the libraries in a folder expect from NVIDIA's, less what they give each other.
fn imports(folder: &Path) -> BTreeSet<String> {
    let (mut wanted, mut given) = (BTreeSet::new(), BTreeSet::new());
    for library in libraries(folder) {
        let Ok(file) = File::open(&library) else {
            continue;
        };
        // Some of these files hold gigabytes of kernels, so only the parts asked for are read.
        let cache = ReadCache::new(BufReader::new(file));
        wanted.extend(names(&cache, Side::Imports).into_iter().filter(|name| is_replaced(name)));
        given.extend(names(&cache, Side::Exports));
    }
    wanted.difference(&given).cloned().collect()
}

fn libraries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains(".so")).collect()
}

fn is_replaced(name: &str) -> bool {
    // The driver's functions are `cu` and a capital: cuMemAlloc, cuFileRead.
    let driver = name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    (driver || REPLACED.iter().any(|prefix| name.starts_with(prefix))) && !needs_no_device(name)
}

/// What the real cuDNN, which stays loaded, does well without a card: descriptors and versions.
fn needs_no_device(name: &str) -> bool {
    let plain = [
        "cudnnGetCudartVersion",
        "cudnnGetErrorString",
        "cudnnGetLastErrorString",
        "cudnnGetProperty",
        "cudnnGetVersion",
        "cudnnSetConvolutionGroupCount",
        "cudnnSetConvolutionMathType",
    ];
    let descriptor = name.starts_with("cudnn") && name.contains("Descriptor") && !name.starts_with("cudnnBackend");
    descriptor || plain.contains(&name)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Imports,
    Exports,
}

/// The dynamic symbols of an ELF file; none, if it is not one.
fn names<'a>(data: impl ReadRef<'a>, side: Side) -> BTreeSet<String> {
    let Ok(file) = object::read::elf::ElfFile64::<object::Endianness, _>::parse(data) else {
        return BTreeSet::new();
    };
    let on_side = |undefined: bool| (side == Side::Imports) == undefined;
    let symbols = file.dynamic_symbols().filter(|symbol| on_side(symbol.is_undefined()));
    symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvidia_names_are_told_from_others() {
        for name in [
            "cudaMalloc",
            "cuMemAlloc_v2",
            "cublasLtMatmul",
            "cudnnBackendFinalize",
            "cudnnBackendCreateDescriptor",
            "cuFileRead",
            "ncclSend",
            "__cudaRegisterFatBinary",
        ] {
            assert!(is_replaced(name), "{name}");
        }
        for name in
            ["nvshmem_init", "cudnnSetTensorNdDescriptor", "custom_op", "current", "_Z9cudaThing", "nvtxRangePush"]
        {
            assert!(!is_replaced(name), "{name}");
        }
    }

    #[test]
    fn the_ghost_exports_what_it_must() {
        let exports = names(payload::ghost_bytes(), Side::Exports);
        for name in ["cudaMalloc", "cuInit", "ghost_abi"] {
            assert!(exports.contains(name), "{name}");
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..14).map(|index| format!("f{index}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(listed(&names).ends_with("f11 and 2 more"));
    }
}
