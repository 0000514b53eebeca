//! What a process holds on a card outside PyTorch's allocator, for cards on which nobody measured it.
//!
//! Creating a CUDA context reserves local memory for every thread that can be resident, and little else that grows
//! with the card. So the figures measured on the H200 (132 multiprocessors of 2048 threads: 518 MiB, and 127 MiB more
//! once cuDNN and cuBLAS were used) are scaled by resident threads, above a part that every context needs.
//!
//! OOM messages tell the same figure for other cards: "this process has X in use" less what PyTorch allocated and
//! reserved. The rule meets them within 10 % or 30 MiB, which the test below holds it to.

use units::Bytes;

use crate::architecture::Architecture;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overhead {
    pub context_bytes: u64,
    pub library_bytes: u64,
}

/// Resident threads of the H200, on which the figures were measured.
const MEASURED_THREADS: f64 = 132.0 * 2048.0;
const MEASURED_CONTEXT_MIB: f64 = 518.0;
const MEASURED_LIBRARIES_MIB: f64 = 127.0;
/// The part of a context that does not grow with the card: what a T4, the smallest in use, leaves for it.
const SMALLEST_CONTEXT_MIB: f64 = 40.0;

pub(crate) fn derived(multiprocessors: u32, architecture: &Architecture) -> Overhead {
    let threads = f64::from(multiprocessors * architecture.threads_per_multiprocessor);
    let share = threads / MEASURED_THREADS;
    let context = SMALLEST_CONTEXT_MIB + (MEASURED_CONTEXT_MIB - SMALLEST_CONTEXT_MIB) * share;
    Overhead { context_bytes: whole_mib(context), library_bytes: whole_mib(MEASURED_LIBRARIES_MIB * share) }
}

fn whole_mib(mib: f64) -> u64 {
    mib.round() as u64 * Bytes::MIB.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total_mib(id: &str) -> i64 {
        let card = crate::find(id).unwrap();
        let overhead = derived(card.multiprocessors, card.architecture());
        ((overhead.context_bytes + overhead.library_bytes) / Bytes::MIB.0) as i64
    }

    #[test]
    fn gives_back_what_was_measured() {
        let h200 = crate::find("h200").unwrap();
        let overhead = derived(h200.multiprocessors, h200.architecture());
        assert_eq!((overhead.context_bytes, overhead.library_bytes), (h200.context_bytes, h200.library_bytes));
    }

    /// In use by the process, less allocated, less reserved but unallocated, from public OOM messages.
    #[test]
    fn meets_what_oom_messages_tell() {
        let told = [
            ("t4", 130, "https://github.com/QwenLM/Qwen3-VL/issues/1046"),
            ("t4", 135, "https://github.com/Zheng-Chong/CatVTON/issues/133"),
            ("t4", 104, "https://github.com/mbzuai-oryx/GeoPixel/issues/5"),
            ("rtx-3070", 179, "https://github.com/meta-llama/codellama/issues/82"),
            ("rtx-4090", 503, "https://github.com/3DTopia/Phidias-Diffusion/issues/8"),
            ("rtx-4090", 473, "https://github.com/pinokiofactory/flux-webui/issues/11"),
            ("a100-40g", 501, "https://github.com/TianheWu/CoSeR/issues/10"),
            ("rtx-5090", 595, "https://github.com/Wan-Video/Wan2.1/issues/465"),
        ];
        for (id, mib, source) in told {
            let derived = total_mib(id);
            let allowed = (mib / 10).max(30);
            assert!((derived - mib).abs() <= allowed, "{id}: derived {derived} MiB, told {mib} MiB in {source}");
        }
    }
}
