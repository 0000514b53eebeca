//! CTC loss.
//!
//! The workspace holds the probabilities and the two sweeps over the labels with a blank between each
//! two. Measured on an H200 (cuDNN 9.19): 618 problems with labels on the device come out to the byte; with labels on
//! the host 334 of them were compared, and two with varying lengths by hand.

use super::real_descriptors::{self, function};
use super::{BAD_PARAM, SUCCESS};
use crate::fill::put;
use std::slice;

/// Steps, sequences and letters.
#[derive(Clone, Copy)]
struct Problem {
    steps: u64,
    sequences: u64,
    letters: u64,
}

impl Problem {
    fn of(probabilities: usize) -> Option<Problem> {
        let sizes = real_descriptors::tensor(probabilities)?.sizes;
        let &[steps, sequences, letters] = sizes.as_slice() else { return None };
        Some(Problem { steps: steps as u64, sequences: sequences as u64, letters: letters as u64 })
    }

    /// `swept` steps of the sweeps, and `more` words for each sequence.
    fn workspace(self, swept: u64, longest_label: u64, more: u64) -> u64 {
        let states = 2 * longest_label + 1;
        4 * self.sequences * (self.steps * self.letters + (2 * swept + 1) * states + more)
    }

    /// Labels and lengths are known on the host, and the labels are kept in the workspace.
    fn with_host_labels(self, longest_input: u64, longest_label: u64) -> u64 {
        self.workspace(longest_input, longest_label, longest_label + 4)
    }

    fn with_device_labels(self, longest_label: u64) -> u64 {
        self.workspace(self.steps, longest_label, 2)
    }
}

/// # Safety
/// `lengths` points to `count` integers.
unsafe fn longest(lengths: *const i32, count: u64) -> u64 {
    if lengths.is_null() {
        return 0;
    }
    // SAFETY: as the caller promises.
    let lengths = unsafe { slice::from_raw_parts(lengths, count as usize) };
    lengths.iter().copied().max().unwrap_or(0).max(0) as u64
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetCTCLossWorkspaceSize(
    _handle: usize,
    probabilities: usize,
    _gradients: usize,
    _labels: *const i32,
    label_lengths: *const i32,
    input_lengths: *const i32,
    _algorithm: i32,
    _descriptor: usize,
    out: *mut usize,
) -> i32 {
    let Some(problem) = Problem::of(probabilities) else { return BAD_PARAM };
    // SAFETY: the API's contract: one length on the host for each sequence; `out` may be written.
    unsafe {
        let longest_input = longest(input_lengths, problem.sequences);
        let longest_label = longest(label_lengths, problem.sequences);
        put(out, problem.with_host_labels(longest_input, longest_label) as usize);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetCTCLossWorkspaceSize_v8(
    _handle: usize,
    _algorithm: i32,
    descriptor: usize,
    probabilities: usize,
    _gradients: usize,
    out: *mut usize,
) -> i32 {
    let Some(problem) = Problem::of(probabilities) else { return BAD_PARAM };
    let bytes = problem.with_device_labels(longest_label(descriptor));
    // SAFETY: null or the caller's to be written.
    unsafe { put(out, bytes as usize) };
    SUCCESS
}

/// The longest label that the descriptor was set up for.
fn longest_label(descriptor: usize) -> u64 {
    type Get = extern "C" fn(usize, *mut i32, *mut i32, *mut i32, *mut i32) -> i32;
    // SAFETY: both versions have this documented signature.
    let get = unsafe {
        function::<Get>(c"cudnnGetCTCLossDescriptor_v9").or_else(|| function(c"cudnnGetCTCLossDescriptor_v8"))
    };
    let Some(get) = get else { return 0 };
    let (mut data_type, mut normalization, mut gradient, mut longest) = (0, 0, 0, 0);
    get(descriptor, &mut data_type, &mut normalization, &mut gradient, &mut longest);
    longest.max(0) as u64
}

crate::succeed! { cudnnCTCLoss cudnnCTCLoss_v8 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_card() {
        let problem = |steps, sequences, letters| Problem { steps, sequences, letters };
        assert_eq!(problem(50, 16, 20).with_host_labels(50, 20), 330_560);
        assert_eq!(problem(50, 16, 20).with_device_labels(20), 329_152);
        assert_eq!(problem(300, 16, 20).with_device_labels(255), 20_039_232);
        // Shorter inputs shorten the sweeps and nothing else.
        assert_eq!(problem(128, 23, 181).with_host_labels(127, 53), 4_646_920);
        assert_eq!(problem(175, 63, 167).with_host_labels(169, 78), 20_797_560);
    }
}
