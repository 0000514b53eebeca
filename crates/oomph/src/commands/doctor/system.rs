//! The machine: what the ghost can be loaded on, and where it is unpacked.

use std::ffi::CStr;

use super::check::{Check, Found, Place};
use crate::payload::{self, Payload};

pub const LINUX: Check = Check { id: "system.linux", title: "Linux", run: linux };
pub const CACHE: Check = Check { id: "system.cache", title: "cache folder", run: cache };

fn linux(_: &Place) -> Found {
    if !cfg!(target_os = "linux") {
        return Found::Fail(format!("this is {}", std::env::consts::OS), "use Linux, or a Linux container".into());
    }
    // SAFETY: glibc returns a static C string.
    let glibc = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    Found::Pass(format!("{}, glibc {}", std::env::consts::ARCH, glibc.to_string_lossy()))
}

fn cache(_: &Place) -> Found {
    let every_time = "set XDG_CACHE_HOME to a folder that can be written; until then every try unpacks anew";
    let Some(folder) = payload::cache_folder() else {
        return Found::Warn("neither XDG_CACHE_HOME nor HOME is set".into(), every_time.into());
    };
    match Payload::unpack_into_cache() {
        Ok(_) => Found::Pass(folder.display().to_string()),
        Err(error) => Found::Warn(format!("{}: {error}", folder.display()), every_time.into()),
    }
}
