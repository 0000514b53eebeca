//! The real cuDNN in this process.
//!
//! PyTorch loads its libraries locally, so `dlsym(RTLD_NEXT)` does not see it; asking the loader for
//! the library by name does.

use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::sync::OnceLock;

struct Library(*mut c_void);
// SAFETY: a loader handle is only passed back to the loader, which locks by itself.
unsafe impl Send for Library {}
unsafe impl Sync for Library {}

fn library() -> Option<*mut c_void> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let found = LIBRARY.get_or_init(|| {
        let open = |name: &CStr, flags| {
            // SAFETY: a C string; the handle is checked before use.
            let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
            (!handle.is_null()).then_some(Library(handle))
        };
        open(c"libcudnn.so.9", libc::RTLD_NOLOAD | libc::RTLD_NOW).or_else(|| open(c"libcudnn.so.9", libc::RTLD_NOW))
    });
    found.as_ref().map(|library| library.0)
}

/// A function of the real library, or nothing if this version lacks it.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a valid handle and a C string.
    let found = unsafe { crate::lookup::symbol(library()?, name) };
    (!found.is_null()).then_some(found)
}

/// `cudnnGetVersion()` of the real library, for example 91900.
pub fn version() -> usize {
    static VERSION: OnceLock<usize> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let Some(found) = symbol(c"cudnnGetVersion") else { return 0 };
        // SAFETY: the documented signature is size_t(void).
        let ask: extern "C" fn() -> usize = unsafe { transmute(found) };
        ask()
    })
}

type Create = extern "C" fn(i32, *mut usize) -> i32;
type OfDescriptor = extern "C" fn(usize) -> i32;
type Set = extern "C" fn(usize, i32, i32, i64, *const c_void) -> i32;
type Get = extern "C" fn(usize, i32, i32, i64, *mut i64, *mut c_void) -> i32;

/// The graph API's functions.
pub struct Backend {
    pub create: Create,
    pub destroy: OfDescriptor,
    pub set: Set,
    pub get: Get,
    pub finalize: OfDescriptor,
}

impl Backend {
    fn find() -> Option<Backend> {
        // SAFETY: each name has the documented signature of the field it fills.
        unsafe {
            Some(Backend {
                create: transmute::<*mut c_void, Create>(symbol(c"cudnnBackendCreateDescriptor")?),
                destroy: transmute::<*mut c_void, OfDescriptor>(symbol(c"cudnnBackendDestroyDescriptor")?),
                set: transmute::<*mut c_void, Set>(symbol(c"cudnnBackendSetAttribute")?),
                get: transmute::<*mut c_void, Get>(symbol(c"cudnnBackendGetAttribute")?),
                finalize: transmute::<*mut c_void, OfDescriptor>(symbol(c"cudnnBackendFinalize")?),
            })
        }
    }
}

/// The real graph API, if there is a real cuDNN.
pub fn backend() -> Option<&'static Backend> {
    static BACKEND: OnceLock<Option<Backend>> = OnceLock::new();
    BACKEND.get_or_init(Backend::find).as_ref()
}
