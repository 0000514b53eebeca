//! Tables for the calls that need no thought.
//!
//! Most of the several hundred names that PyTorch imports may simply succeed: they start work whose
//! result nobody reads on a ghost. They are listed, not written out.
//!
//! A C caller may pass more arguments than the callee declares (System V and AArch64 both leave the
//! clean-up to the caller), so one shape serves every signature in a table.

/// Functions that log their name and return 0, which is "success" in every NVIDIA library.
#[macro_export]
macro_rules! succeed {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> i32 {
                $crate::log::call(stringify!($name));
                0
            }
        )*
    };
}

/// Functions that create something: each writes a fresh non-null handle through the argument at the
/// given position (from 0) and succeeds. A null out-pointer is left alone.
#[macro_export]
macro_rules! hand_out {
    ($($name:ident: $position:literal)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> i32 {
                $crate::log::call(stringify!($name));
                let out = [a, b, c, d, e, f][$position] as *mut usize;
                if !out.is_null() {
                    // SAFETY: the position names the documented out-parameter of this function.
                    unsafe { out.write($crate::answer::fresh_handle()) };
                }
                0
            }
        )*
    };
}

/// Functions that ask for a size: each writes zero of the given type through the argument at the
/// given position (from 0) and succeeds. For positions past the sixth register argument, write the
/// function by hand.
#[macro_export]
macro_rules! needs_nothing {
    ($($name:ident: $position:literal as $type:ty)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> i32 {
                $crate::log::call(stringify!($name));
                let out = [a, b, c, d, e, f][$position] as *mut $type;
                if !out.is_null() {
                    // SAFETY: the position names the documented out-parameter of this function.
                    unsafe { out.write(0) };
                }
                0
            }
        )*
    };
}

/// Functions that share memory between processes or devices: there is none to share, and they say so
/// rather than pretend. The code before the arrow is what each returns.
#[macro_export]
macro_rules! refuse_sharing {
    ($code:expr => $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> i32 {
                $crate::notes::note(concat!(stringify!($name), ": a ghost's memory cannot be shared between processes"));
                $code
            }
        )*
    };
}

use std::sync::atomic::{AtomicUsize, Ordering};

/// A value that is never null and never given twice, for the opaque handles of C APIs.
///
/// Handles look like pointers but point nowhere: whoever dereferences one has left the public API.
pub fn fresh_handle() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0x6057_0000_0000);
    NEXT.fetch_add(64, Ordering::Relaxed)
}
