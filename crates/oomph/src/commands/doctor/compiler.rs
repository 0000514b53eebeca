//! What `torch.compile` needs: Triton, and a C compiler for its launchers.

use super::check::{Check, Found, Place};
use crate::python::on_path;

pub const FOUND: Check = Check { id: "compile.compiler", title: "torch.compile", run: found };

fn found(place: &Place) -> Found {
    let torch = match place.torch() {
        Ok(torch) => torch,
        Err(skip) => return skip,
    };
    let Some(triton) = torch.package("triton") else {
        return Found::Warn(
            "no triton: scripts that use torch.compile fail".into(),
            "install the triton that belongs to this torch".into(),
        );
    };
    let named = std::env::var_os("CC");
    let names = named.as_deref().into_iter().chain(["gcc", "clang"].map(AsRef::as_ref));
    match names.into_iter().find_map(on_path) {
        Some(compiler) => Found::Pass(format!("triton {triton}, {}", compiler.display())),
        None => Found::Warn(
            "no C compiler: scripts that use torch.compile fail".into(),
            "install gcc, or name a compiler in CC".into(),
        ),
    }
}
