//! The real libraries, loaded beside us: some questions they answer without a card.
//!
//! Only questions about the library itself are passed on (which version are you?), because PyTorch
//! compares the answers with what it was built against.

use std::ffi::{CStr, c_void};

/// A function of the first of these libraries that the process has loaded.
///
/// Asked for by file name: `RTLD_NEXT` does not reach libraries that Python loaded locally.
pub fn symbol(libraries: &[&CStr], name: &CStr) -> Option<*mut c_void> {
    libraries.iter().find_map(|library| {
        // SAFETY: both are C strings, and nothing is loaded that is not loaded already.
        let found = unsafe {
            let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if handle.is_null() { handle } else { crate::lookup::symbol(handle, name) }
        };
        (!found.is_null()).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_loaded_library_is_found_and_another_is_not() {
        assert!(super::symbol(&[c"libc.so.6"], c"getpid").is_some());
        assert!(super::symbol(&[c"libnothing.so.1"], c"getpid").is_none());
    }
}
