//! The GPU that is not there.
//!
//! Preloaded into a process, this library answers NVIDIA's public C APIs: PyTorch's dispatcher,
//! autograd, optimizers and its own caching allocator then run unchanged on a machine without a
//! card. Allocations get addresses and no memory, launches are done the moment they are asked for,
//! and a card that is full says so exactly where the real one would.
//!
//! One file per NVIDIA library. What merely succeeds is a table ([`answer`]); what needs sense is
//! written out. Declarations follow the public documentation. Without `GHOST_CARD` in the
//! environment the library has no devices and is inert.

// C names are NVIDIA's, and exported functions take the pointers that C callers give them.
#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]
// The bodies given to `alike!` write through out-parameters: they are meant to be unsafe.
#![allow(clippy::macro_metavars_in_unsafe)]

pub mod abi;
pub mod answer;
pub mod beside;
pub mod card;
pub mod data_type;
pub mod fill;
pub mod known;
pub mod log;
pub mod lookup;
pub mod memory;
pub mod notes;
pub mod twin;

pub mod cublas;
pub mod cudnn;
pub mod cufft;
pub mod cufile;
pub mod cupti;
pub mod cusolver;
pub mod cusparse;
pub mod cusparselt;
pub mod driver;
pub mod nccl;
pub mod nvml;
pub mod nvrtc;
pub mod nvshmem;
pub mod runtime;
