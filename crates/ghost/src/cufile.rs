//! cuFile (GPUDirect Storage): files between disk and device memory that is not there.
//!
//! Reads and writes are counted as done in full. Nothing is written: a try never touches a user's file.

use crate::answer::fresh_handle;
use crate::fill::put;
use crate::{log, say};

/// `CUfileError_t`: returned by value, so both halves are ours to fill.
#[repr(C)]
pub struct Status {
    cufile: i32,
    driver: i32,
}

const SUCCESS: Status = Status { cufile: 0, driver: 0 };

macro_rules! done {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> Status {
                log::call(stringify!($name));
                SUCCESS
            }
        )*
    };
}

done! { cuFileBufDeregister cuFileBufRegister }

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFileHandleRegister(handle: *mut usize, _descriptor: usize) -> Status {
    log::call("cuFileHandleRegister");
    // SAFETY: the documented out-parameter.
    unsafe { put(handle, fresh_handle()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFileHandleDeregister(_handle: usize) {
    log::call("cuFileHandleDeregister");
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFileRead(_handle: usize, _buffer: usize, bytes: usize, _file: i64, _offset: i64) -> isize {
    say!("cuFileRead {bytes}");
    bytes as isize
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFileWrite(_handle: usize, _buffer: usize, bytes: usize, _file: i64, _offset: i64) -> isize {
    say!("cuFileWrite {bytes}, thrown away");
    bytes as isize
}
