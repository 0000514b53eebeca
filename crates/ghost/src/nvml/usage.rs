//! Memory and the processes that hold it.

use super::{INSUFFICIENT_SIZE, of_device};
use crate::card::card;
use crate::fill::put;
use crate::memory;

/// `nvmlMemory_t` and, behind a version and with a reserved part, `nvmlMemory_v2_t`.
#[repr(C)]
pub struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

#[repr(C)]
pub struct Memory2 {
    version: u32,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

fn used_and_free(device: i32) -> (u64, u64) {
    let used = memory::used(device);
    (used, card().total_bytes.saturating_sub(used))
}

of_device! {
    [nvmlDeviceGetMemoryInfo]
    (device, out: *mut Memory)
    {
        let (used, free) = used_and_free(device);
        put(out, Memory { total: card().total_bytes, free, used });
    }
}
of_device! {
    [nvmlDeviceGetMemoryInfo_v2]
    (device, out: *mut Memory2)
    {
        if let Some(out) = out.as_mut() {
            let (used, free) = used_and_free(device);
            *out = Memory2 { version: out.version, total: card().total_bytes, reserved: 0, free, used };
        }
    }
}
// The window through which the host sees the card's memory is all of it.
of_device! {
    [nvmlDeviceGetBAR1MemoryInfo]
    (_device, out: *mut Memory)
    { put(out, Memory { total: card().total_bytes, free: card().total_bytes, used: 0 }); }
}

/// `nvmlProcessInfo_v1_t`, the form of the unversioned call that PyTorch makes.
#[repr(C)]
pub struct Process {
    pid: u32,
    used: u64,
}

/// `nvmlProcessInfo_v2_t` and later: with the parts of a split card, of which there are none.
#[repr(C)]
pub struct Process2 {
    pid: u32,
    used: u64,
    gpu_instance: u32,
    compute_instance: u32,
}

/// What NVML says for "not on a part".
const WHOLE: u32 = u32::MAX;

/// Reports one process or none. Returns whether there is room, as NVML says it.
unsafe fn report<P>(device: i32, count: *mut u32, out: *mut P, process: impl FnOnce(u32, u64) -> P) -> i32 {
    let used = memory::used(device);
    // SAFETY: an array with room for `count` processes, as documented.
    unsafe {
        let Some(count) = count.as_mut() else { return super::INVALID_ARGUMENT };
        let room = *count;
        *count = u32::from(used > 0);
        if used == 0 {
            return super::SUCCESS;
        }
        if room == 0 || out.is_null() {
            return INSUFFICIENT_SIZE;
        }
        out.write(process(std::process::id(), used));
    }
    super::SUCCESS
}

// This process is the only one on the card.
of_device! {
    [nvmlDeviceGetComputeRunningProcesses]
    (device, count: *mut u32, out: *mut Process)
    { report(device, count, out, |pid, used| Process { pid, used }) }
}
of_device! {
    [nvmlDeviceGetComputeRunningProcesses_v2 nvmlDeviceGetComputeRunningProcesses_v3]
    (device, count: *mut u32, out: *mut Process2)
    {
        report(device, count, out, |pid, used| Process2 {
            pid, used, gpu_instance: WHOLE, compute_instance: WHOLE,
        })
    }
}
of_device! {
    [nvmlDeviceGetGraphicsRunningProcesses nvmlDeviceGetGraphicsRunningProcesses_v2
     nvmlDeviceGetGraphicsRunningProcesses_v3 nvmlDeviceGetMPSComputeRunningProcesses
     nvmlDeviceGetMPSComputeRunningProcesses_v2 nvmlDeviceGetMPSComputeRunningProcesses_v3]
    (_device, count: *mut u32)
    { put(count, 0); }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_documented_sizes() {
        assert_eq!(size_of::<Memory>(), 24);
        assert_eq!(size_of::<Memory2>(), 40);
        assert_eq!(size_of::<Process>(), 16);
        assert_eq!(size_of::<Process2>(), 24);
    }
}
