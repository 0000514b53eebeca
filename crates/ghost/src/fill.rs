//! Filling out-parameters: what a C caller reads after the call.

use std::ffi::c_char;

/// Writes through a pointer that the documentation lets be null.
///
/// # Safety
/// `out` is null, or points to memory for a `T`.
pub unsafe fn put<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: as the caller promises.
        unsafe { out.write(value) };
    }
}

/// Zeroes `count` bytes of the caller's.
///
/// # Safety
/// `out` is null, or points to `count` writable bytes.
pub unsafe fn zero(out: usize, count: usize) {
    if out != 0 {
        // SAFETY: as the caller promises.
        unsafe { std::ptr::write_bytes(out as *mut u8, 0, count) };
    }
}

/// Writes a C string into `room` bytes; false, and nothing written, if it does not fit.
///
/// # Safety
/// `out` is null, or points to `room` writable bytes.
pub unsafe fn text(out: *mut c_char, room: u32, text: &str) -> bool {
    if out.is_null() || text.len() >= room as usize {
        return false;
    }
    // SAFETY: the text and its end fit, as checked.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), text.len());
        out.add(text.len()).write(0);
    }
    true
}

/// Exported functions that differ in nothing but their name, mostly in the element type it carries:
/// one documented signature, one body, success returned.
///
/// Bodies are unsafe: they write through the pointers that the signature names as outputs.
#[macro_export]
macro_rules! alike {
    ([$($name:ident)*] $arguments:tt $body:tt) => {
        $( $crate::alike!(@one $name $arguments $body); )*
    };
    (@one $name:ident ($($argument:ident: $type:ty),* $(,)?) $body:tt) => {
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe)] // some bodies only take note of what they were told
        pub unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
            $crate::log::call(stringify!($name));
            // SAFETY: the pointers are the documented out-parameters; C callers pass valid ones or null.
            unsafe $body
            0
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_does_not_fit_is_not_cut() {
        let mut room = [1 as c_char; 4];
        // SAFETY: the buffer is as long as stated.
        unsafe {
            assert!(!text(room.as_mut_ptr(), 4, "four"));
            assert_eq!(room[0], 1);
            assert!(text(room.as_mut_ptr(), 4, "two"));
            assert_eq!(room[3], 0);
        }
    }

    #[test]
    fn null_is_left_alone() {
        // SAFETY: null is allowed.
        unsafe {
            put(std::ptr::null_mut::<i32>(), 1);
            zero(0, 8);
        }
    }
}
