//! cuFFT: plans are numbers, and a plan's work area comes from PyTorch's allocator.

use crate::fill::put;
use crate::{alike, data_type, notes, say, succeed};
use std::sync::atomic::{AtomicI32, Ordering};

// Plans in use.
succeed! { cufftDestroy cufftSetAutoAllocation cufftSetStream cufftSetWorkArea cufftXtExec }

/// A `cufftHandle` is an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cufftCreate(plan: *mut i32) -> i32 {
    static NEXT: AtomicI32 = AtomicI32::new(1);
    let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
    say!("cufftCreate -> {fresh}");
    // SAFETY: the documented out-parameter.
    unsafe { put(plan, fresh) };
    0
}

/// The work area of a plan, derived from the documentation: between one and eight times the signal
/// in complex elements. Lengths made of primes up to 127 are transformed directly and are put at the
/// low end, others go through a convolution (Bluestein) and are put at the high end.
///
/// A real signal is transformed as one of half the length.
fn work_bytes(lengths: &[i64], batch: i64, real: bool, complex_bytes: usize) -> usize {
    let halved = |(axis, &length): (usize, &i64)| {
        let last = axis + 1 == lengths.len();
        let stored = if real && last { length / 2 + 1 } else { length };
        stored.max(0) as usize
    };
    let signal: usize = lengths.iter().enumerate().map(halved).product();
    let times = if lengths.iter().all(|&n| is_direct(n)) { 1 } else { 8 };
    signal * batch.max(0) as usize * complex_bytes * times
}

/// Whether a length has no prime factor above 127.
fn is_direct(mut length: i64) -> bool {
    for factor in 2..=127 {
        while length > 1 && length % factor == 0 {
            length /= factor;
        }
    }
    length <= 1
}

/// `CUDA_R_16F`, `CUDA_R_32F`, `CUDA_R_64F`, `CUDA_R_16BF`.
fn is_real(data_type: i32) -> bool {
    matches!(data_type, 0 | 1 | 2 | 14)
}

alike! {
    [cufftXtMakePlanMany]
    (plan: i32, rank: i32, lengths: *const i64, _inembed: usize, _istride: i64, _idist: i64, input: i32,
     _onembed: usize, _ostride: i64, _odist: i64, output: i32, batch: i64, work: *mut usize, execution: i32)
    {
        let lengths = if lengths.is_null() { &[] } else { std::slice::from_raw_parts(lengths, rank.max(0) as usize) };
        let bytes = work_bytes(lengths, batch, is_real(input) || is_real(output), data_type::bytes(execution));
        say!("cufftXtMakePlanMany {plan}: {lengths:?} x {batch}, work {bytes}");
        notes::note("cuFFT work areas are derived, not measured");
        put(work, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn friendly_lengths_need_one_signal_and_others_eight() {
        assert_eq!(work_bytes(&[64, 48], 2, false, 8), 64 * 48 * 2 * 8);
        assert_eq!(work_bytes(&[131], 1, false, 8), 131 * 8 * 8);
    }

    #[test]
    fn a_real_signal_is_half_as_long() {
        assert_eq!(work_bytes(&[64, 64], 1, true, 8), 64 * 33 * 8);
    }

    #[test]
    fn plans_have_numbers_of_their_own() {
        let (mut first, mut second) = (0, 0);
        // SAFETY: the pointers are to locals.
        unsafe {
            cufftCreate(&mut first);
            cufftCreate(&mut second);
        }
        assert!(first > 0 && second > first);
    }
}
