//! NCCL calls that are done as soon as they are made.

use crate::fill::put;
use crate::{alike, hand_out, succeed};
use std::sync::atomic::{AtomicI32, Ordering};

// Registrations, and reductions of one's own.
hand_out! { ncclCommRegister: 3 }
succeed! { ncclCommDeregister ncclDevCommDestroy ncclRedOpDestroy }

/// A reduction is an `int`; the built-in ones are below this.
static NEXT_REDUCTION: AtomicI32 = AtomicI32::new(64);

alike! {
    [ncclRedOpCreatePreMulSum]
    (out: *mut i32)
    { put(out, NEXT_REDUCTION.fetch_add(1, Ordering::Relaxed)); }
}

// A communicator's life.
succeed! { ncclCommFinalize ncclCommResume ncclCommRevoke ncclCommSuspend }
