//! The CUDA runtime API (`libcudart`), for CUDA 12 and 13.

pub mod copies;
pub mod device;
pub mod entry;
pub mod errors;
pub mod graphs;
pub mod kernels;
pub mod memory;
pub mod properties;
pub mod streams;

/// Codes of `cudaError_t` that the ghost gives.
pub const SUCCESS: i32 = 0;
pub const INVALID_VALUE: i32 = 1;
pub const OUT_OF_MEMORY: i32 = 2;
pub const NO_DEVICE: i32 = 100;
pub const INVALID_DEVICE: i32 = 101;
pub const NOT_SUPPORTED: i32 = 801;
