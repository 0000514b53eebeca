//! Reading and writing the real library's descriptors.
//!
//! Setting and getting them needs no device, so what a program put into one is asked of the library
//! itself and nothing has to be remembered beside it.

use super::super::real;
use std::ffi::{CStr, c_void};

/// A function of the real library by its documented type.
///
/// # Safety
/// `F` is the function pointer type that cuDNN documents for `name`.
pub unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let found = real::symbol(name)?;
    // SAFETY: as the caller promises; sizes are equal by the assertion.
    Some(unsafe { std::mem::transmute_copy(&found) })
}

/// Bytes of one element of a `cudnnDataType_t`; the rare integer and 8-bit types are not asked about.
pub fn element_bytes(data_type: i32) -> u64 {
    const DOUBLE: i32 = 1;
    const HALF: i32 = 2;
    const BFLOAT16: i32 = 9;
    match data_type {
        DOUBLE => 8,
        HALF | BFLOAT16 => 2,
        _ => 4,
    }
}

/// `cudnnGetTensorNdDescriptor`'s answer.
pub struct Tensor {
    pub data_type: i32,
    pub sizes: Vec<i32>,
    pub strides: Vec<i32>,
}

/// What a tensor descriptor says, or nothing if the library does not know it.
pub fn tensor(descriptor: usize) -> Option<Tensor> {
    type Get = extern "C" fn(usize, i32, *mut i32, *mut i32, *mut i32, *mut i32) -> i32;
    const MOST: usize = 8; // CUDNN_DIM_MAX
    if descriptor == 0 {
        return None;
    }
    // SAFETY: the documented signature.
    let get: Get = unsafe { function(c"cudnnGetTensorNdDescriptor") }?;
    let (mut data_type, mut count) = (0, 0);
    let (mut sizes, mut strides) = ([0; MOST], [0; MOST]);
    let status = get(descriptor, MOST as i32, &mut data_type, &mut count, sizes.as_mut_ptr(), strides.as_mut_ptr());
    let count = count.clamp(0, MOST as i32) as usize;
    (status == 0).then(|| Tensor { data_type, sizes: sizes[..count].into(), strides: strides[..count].into() })
}

/// Makes `descriptor` a packed tensor of three sizes; a null descriptor is left alone.
pub fn set_packed(descriptor: usize, data_type: i32, sizes: [i32; 3]) -> i32 {
    type Set = extern "C" fn(usize, i32, i32, *const i32, *const i32) -> i32;
    if descriptor == 0 {
        return 0;
    }
    // SAFETY: the documented signature.
    let Some(set) = (unsafe { function::<Set>(c"cudnnSetTensorNdDescriptor") }) else { return 0 };
    let strides = [sizes[1] * sizes[2], sizes[2], 1];
    set(descriptor, data_type, 3, sizes.as_ptr(), strides.as_ptr())
}
