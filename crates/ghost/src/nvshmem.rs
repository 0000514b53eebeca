//! NVSHMEM: symmetric memory among ranks that are not there.
//!
//! PyTorch's symmetric memory can use it. Each rank's memory is device memory of its own; a peer's
//! looks the same from here.

use crate::fill::put;
use crate::{alike, memory, say, succeed};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// How many ranks there are, once `nvshmemx_set_attr_uniqueid_args` has said so.
static RANKS: AtomicI32 = AtomicI32::new(1);

/// Sizes of the teams that were split off.
static TEAMS: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// Numbers of new teams start behind the predefined ones.
const FIRST_TEAM: i32 = 64;

fn teams() -> MutexGuard<'static, Vec<i32>> {
    TEAMS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// `NVSHMEMX_TRANSPORT` chosen by the host library for the device side; a variable, not a function.
#[unsafe(no_mangle)]
pub static nvshmem_selected_device_transport: AtomicI32 = AtomicI32::new(0);

// Transfers and module set-up.
succeed! {
    nvshmem_barrier_all nvshmemid_hostlib_finalize nvshmemx_alltoallmem_on_stream nvshmemx_broadcastmem_on_stream
    nvshmemx_cumodule_init nvshmemx_getmem_on_stream nvshmemx_putmem_on_stream nvshmemx_putmem_signal_on_stream
    nvshmemx_signal_wait_until_on_stream
}

// `provided` is the level of thread support: as much as was wanted.
alike! {
    [nvshmemid_hostlib_init_attr]
    (requested: i32, provided: *mut i32)
    { put(provided, requested); }
}

/// `NVSHMEM_STATUS_IS_INITIALIZED`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemid_init_status() -> i32 {
    2
}

// The version of the OpenSHMEM specification that is followed.
alike! { [nvshmem_info_get_version] (major: *mut i32, minor: *mut i32) { put(major, 1); put(minor, 3); } }

/// `nvshmemx_uniqueid_t`: a version and 124 opaque bytes. The version field is left as the caller set it.
#[repr(C)]
pub struct UniqueId {
    version: i32,
    opaque: [u8; 124],
}

alike! {
    [nvshmemx_get_uniqueid]
    (id: *mut UniqueId)
    { if let Some(id) = id.as_mut() { id.opaque = [b'o'; 124]; } }
}
alike! {
    [nvshmemx_set_attr_uniqueid_args]
    (_rank: i32, ranks: i32, _id: usize, _attributes: usize)
    { RANKS.store(ranks.max(1), Ordering::Relaxed); }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvshmem_malloc(bytes: usize) -> usize {
    say!("nvshmem_malloc {bytes}");
    memory::allocate(bytes).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvshmem_free(address: usize) {
    say!("nvshmem_free {address:#x}");
    memory::release(address);
}

#[unsafe(no_mangle)]
pub extern "C" fn nvshmem_ptr(address: usize, _rank: i32) -> usize {
    address
}

/// No multicast address.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemx_mc_ptr(_team: i32, _address: usize) -> usize {
    0
}

alike! {
    [nvshmem_team_split_strided]
    (_parent: i32, _first: i32, _stride: i32, ranks: i32, _config: usize, _mask: i64, team: *mut i32)
    {
        let mut teams = teams();
        teams.push(ranks);
        put(team, FIRST_TEAM + teams.len() as i32 - 1);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvshmem_team_n_pes(team: i32) -> i32 {
    let split_off = teams().get((team - FIRST_TEAM).max(-1) as usize).copied();
    split_off.unwrap_or_else(|| RANKS.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_knows_its_size() {
        let mut team = 0;
        // SAFETY: the pointer is to a local.
        unsafe { nvshmem_team_split_strided(0, 0, 2, 4, 0, 0, &mut team) };
        assert_eq!(nvshmem_team_n_pes(team), 4);
        assert_eq!(nvshmem_team_n_pes(0), RANKS.load(Ordering::Relaxed));
    }
}
