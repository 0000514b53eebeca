//! How cards reach each other and the processors.

use super::{SUCCESS, index, not_supported, of_device};
use crate::fill::{put, zero};

/// Exported questions about a pair of devices, answered by one number.
macro_rules! of_pair {
    ($($name:ident($($extra:ident: $type:ty),*) = $value:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(one: usize, other: usize $(, $extra: $type)*, out: *mut i32) -> i32 {
                crate::log::call(stringify!($name));
                if index(one).is_none() || index(other).is_none() {
                    return super::INVALID_ARGUMENT;
                }
                // SAFETY: the documented out-parameter.
                unsafe { put(out, $value) };
                SUCCESS
            }
        )*
    };
}

// Peer access works, as `cudaDeviceCanAccessPeer` says; cards share a processor's memory, not a switch.
of_pair! {
    nvmlDeviceGetP2PStatus(_capability: i32) = 0;
    nvmlDeviceGetTopologyCommonAncestor() = 40; // NVML_TOPOLOGY_NODE
    nvmlDeviceOnSameBoard() = 0;
}

not_supported! {
    nvmlDeviceGetGpuFabricInfo
    nvmlDeviceGetNvLinkCapability nvmlDeviceGetNvLinkRemoteDeviceType nvmlDeviceGetNvLinkRemotePciInfo
    nvmlDeviceGetNvLinkRemotePciInfo_v2 nvmlDeviceGetNvLinkState nvmlDeviceGetNvLinkVersion
}

// `nvmlGpuFabricInfoV_t` carries its own size in the low bits of its version. All zero behind that
// is "state: not supported", which PyTorch's symmetric memory wants told with success.
of_device! {
    [nvmlDeviceGetGpuFabricInfoV]
    (_device, info: *mut u32)
    {
        if let Some(version) = info.as_ref() {
            let bytes = (version & 0xFF_FFFF) as usize;
            zero(info.add(1) as usize, bytes.saturating_sub(size_of::<u32>()));
        }
    }
}

// PCI Express: generation, lanes, and traffic.
of_device! {
    [nvmlDeviceGetCurrPcieLinkGeneration nvmlDeviceGetMaxPcieLinkGeneration]
    (_device, out: *mut u32)
    { put(out, 4); }
}
of_device! {
    [nvmlDeviceGetCurrPcieLinkWidth nvmlDeviceGetMaxPcieLinkWidth]
    (_device, out: *mut u32)
    { put(out, 16); }
}
of_device! { [nvmlDeviceGetPcieThroughput] (_device, _counter: i32, out: *mut u32) { put(out, 0); } }
of_device! { [nvmlDeviceGetPcieReplayCounter] (_device, out: *mut u32) { put(out, 0); } }

/// The processors near the card: all that this process may use.
unsafe fn processors(words: u32, set: usize) {
    let bytes = words as usize * size_of::<u64>();
    // SAFETY: an array of so many words, as documented; the system call writes no more than fits.
    unsafe {
        zero(set, bytes);
        if set != 0 && libc::sched_getaffinity(0, bytes, set as *mut libc::cpu_set_t) < 0 {
            // Too few words for this machine's processors: all of those that can be named.
            std::ptr::write_bytes(set as *mut u8, 0xFF, bytes);
        }
    }
}

of_device! {
    [nvmlDeviceGetCpuAffinity nvmlDeviceGetCpuAffinityWithinScope]
    (_device, words: u32, set: usize)
    { processors(words, set); }
}
// Memory near the card: the first node.
of_device! {
    [nvmlDeviceGetMemoryAffinity]
    (_device, words: u32, set: *mut u64)
    {
        zero(set as usize, words as usize * size_of::<u64>());
        if words > 0 {
            put(set, 1);
        }
    }
}
// Threads stay where they are.
of_device! { [nvmlDeviceClearCpuAffinity nvmlDeviceSetCpuAffinity] (_device) {} }
