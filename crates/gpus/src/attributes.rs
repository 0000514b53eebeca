//! The answers to `cuDeviceGetAttribute`, for every `CUdevice_attribute` from 1 to 147.
//!
//! Most are the same on every card: the grid may be 2³¹−1 blocks wide, a warp has 32 threads. `COMMON` holds what an
//! H200 answered (driver for CUDA 13.0), and the functions below replace what depends on architecture or card. For
//! the H200 that gives exactly what it answered; a test checks all of it.

use crate::card::Card;

pub(crate) const COUNT: usize = 147;

type Attribute = (usize, i64);

/// Every attribute of the card, in order.
pub(crate) fn of(card: &Card) -> Vec<Attribute> {
    let mut values = COMMON;
    let replaced = limits(card).into_iter().chain(since_ampere(card)).chain(since_hopper(card)).chain(hardware(card));
    for (number, value) in replaced.chain(links(card)).chain(card.attributes.iter().map(|(n, v)| (*n, *v))) {
        values[number - 1] = value;
    }
    (1..).zip(values).collect()
}

fn limits(card: &Card) -> [Attribute; 9] {
    let architecture = card.architecture();
    [
        (MAX_THREADS_PER_MULTIPROCESSOR, architecture.threads_per_multiprocessor.into()),
        (MAX_BLOCKS_PER_MULTIPROCESSOR, architecture.blocks_per_multiprocessor.into()),
        (MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, architecture.shared_per_multiprocessor.into()),
        (MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, architecture.shared_per_block_optin.into()),
        (RESERVED_SHARED_MEMORY_PER_BLOCK, architecture.shared_reserved_per_block.into()),
        (MAXIMUM_TEXTURE1D_LINEAR_WIDTH, architecture.texture_1d_linear.into()),
        (SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, architecture.float64_ratio.into()),
        (ASYNC_ENGINE_COUNT, architecture.copy_engines.into()),
        (MAX_ACCESS_POLICY_WINDOW_SIZE, architecture.access_window.into()),
    ]
}

fn since_ampere(card: &Card) -> [Attribute; 2] {
    let architecture = card.architecture();
    // A MIG slice cannot set L2 aside.
    let set_aside = if card.features.slice { 0.0 } else { architecture.persisting_l2 };
    [
        (GENERIC_COMPRESSION_SUPPORTED, architecture.has_l2_controls().into()),
        (MAX_PERSISTING_L2_CACHE_SIZE, (card.l2_bytes as f64 * set_aside) as i64),
    ]
}

fn since_hopper(card: &Card) -> [Attribute; 4] {
    let hopper = card.architecture().has_clusters();
    [
        (CLUSTER_LAUNCH, hopper.into()),
        (TENSOR_MAP_ACCESS_SUPPORTED, hopper.into()),
        (UNIFIED_FUNCTION_POINTERS, hopper.into()),
        (MEM_SYNC_DOMAIN_COUNT, if hopper { 4 } else { 1 }),
    ]
}

fn hardware(card: &Card) -> [Attribute; 9] {
    [
        (CLOCK_RATE, i64::from(card.clock_mhz) * 1000),
        (MULTIPROCESSOR_COUNT, card.multiprocessors.into()),
        (INTEGRATED, card.features.integrated.into()),
        (ECC_ENABLED, card.features.ecc.into()),
        (MEMORY_CLOCK_RATE, i64::from(card.memory_clock_mhz) * 1000),
        (GLOBAL_MEMORY_BUS_WIDTH, card.bus_bits.into()),
        (L2_CACHE_SIZE, card.l2_bytes as i64),
        (COMPUTE_CAPABILITY_MAJOR, card.compute.major.into()),
        (COMPUTE_CAPABILITY_MINOR, card.compute.minor.into()),
    ]
}

fn links(card: &Card) -> [Attribute; 10] {
    let features = card.features;
    [
        (HOST_NATIVE_ATOMIC_SUPPORTED, features.coherent.into()),
        (PAGEABLE_MEMORY_ACCESS, features.coherent.into()),
        (PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, features.coherent.into()),
        (DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, features.coherent.into()),
        (GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, features.gpudirect_rdma.into()),
        (GPU_DIRECT_RDMA_SUPPORTED, features.gpudirect_rdma.into()),
        (GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, features.gpudirect_rdma.into()),
        (GPU_DIRECT_RDMA_WRITES_ORDERING, if features.gpudirect_rdma { WRITES_ORDERED_FOR_OWNER } else { 0 }),
        (MEMPOOL_SUPPORTED_HANDLE_TYPES, if features.fabric { POSIX_HANDLE | FABRIC_HANDLE } else { POSIX_HANDLE }),
        (HANDLE_TYPE_FABRIC_SUPPORTED, features.fabric.into()),
    ]
}

/// `CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER`
const WRITES_ORDERED_FOR_OWNER: i64 = 100;
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`
const POSIX_HANDLE: i64 = 1;
/// `CU_MEM_HANDLE_TYPE_FABRIC`
const FABRIC_HANDLE: i64 = 8;

// The numbers of the `CU_DEVICE_ATTRIBUTE_…` that differ between cards; CUDA driver API, `CUdevice_attribute`.
const CLOCK_RATE: usize = 13;
const MULTIPROCESSOR_COUNT: usize = 16;
const INTEGRATED: usize = 18;
const ECC_ENABLED: usize = 32;
const MEMORY_CLOCK_RATE: usize = 36;
const GLOBAL_MEMORY_BUS_WIDTH: usize = 37;
const L2_CACHE_SIZE: usize = 38;
const MAX_THREADS_PER_MULTIPROCESSOR: usize = 39;
const ASYNC_ENGINE_COUNT: usize = 40;
const MAXIMUM_TEXTURE1D_LINEAR_WIDTH: usize = 69;
const COMPUTE_CAPABILITY_MAJOR: usize = 75;
const COMPUTE_CAPABILITY_MINOR: usize = 76;
const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: usize = 81;
const HOST_NATIVE_ATOMIC_SUPPORTED: usize = 86;
const SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: usize = 87;
const PAGEABLE_MEMORY_ACCESS: usize = 88;
const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: usize = 97;
const PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: usize = 100;
const DIRECT_MANAGED_MEM_ACCESS_FROM_HOST: usize = 101;
const MAX_BLOCKS_PER_MULTIPROCESSOR: usize = 106;
const GENERIC_COMPRESSION_SUPPORTED: usize = 107;
const MAX_PERSISTING_L2_CACHE_SIZE: usize = 108;
const MAX_ACCESS_POLICY_WINDOW_SIZE: usize = 109;
const GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED: usize = 110;
const RESERVED_SHARED_MEMORY_PER_BLOCK: usize = 111;
const GPU_DIRECT_RDMA_SUPPORTED: usize = 116;
const GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS: usize = 117;
const GPU_DIRECT_RDMA_WRITES_ORDERING: usize = 118;
const MEMPOOL_SUPPORTED_HANDLE_TYPES: usize = 119;
const CLUSTER_LAUNCH: usize = 120;
const MEM_SYNC_DOMAIN_COUNT: usize = 126;
const TENSOR_MAP_ACCESS_SUPPORTED: usize = 127;
const HANDLE_TYPE_FABRIC_SUPPORTED: usize = 128;
const UNIFIED_FUNCTION_POINTERS: usize = 129;

/// NVIDIA's PCI vendor id, in the low half of the combined ids; a card's own number is not in the catalogue.
const PCI_VENDOR: i64 = 0x10DE;

/// What the H200 answered, its place on the PCI bus apart.
#[rustfmt::skip]
const COMMON: [i64; COUNT] = [
    /*   1 */ 1024, 1024, 1024, 64, 2_147_483_647, 65535, 65535, 49152, 65536, 32,
    /*  11 */ 2_147_483_647, 65536, 1_980_000, 512, 1, 132, 0, 0, 1, 0,
    /*  21 */ 131072, 131072, 65536, 16384, 16384, 16384, 32768, 32768, 2048, 512,
    /*  31 */ 1, 1, 0, 0, 0, 3_201_000, 6016, 62_914_560, 2048, 3,
    /*  41 */ 1, 32768, 2048, 1, 32768, 32768, 8192, 8192, 32768, 0,
    /*  51 */ 32, 32768, 32768, 2046, 32768, 131072, 65536, 16384, 16384, 16384,
    /*  61 */ 32768, 2048, 32768, 32768, 2048, 32768, 32768, 2046, 268_435_456, 131072,
    /*  71 */ 65000, 2_097_120, 32768, 32768, 9, 0, 32768, 1, 1, 1,
    /*  81 */ 233472, 65536, 1, 0, 0, 0, 2, 0, 1, 1,
    /*  91 */ 1, 0, 0, 0, 1, 1, 232448, 0, 1, 0,
    /* 101 */ 0, 1, 1, 0, 0, 32, 1, 39_321_600, 134_217_728, 1,
    /* 111 */ 1024, 1, 1, 1, 1, 1, 1, 100, 9, 1,
    /* 121 */ 1, 1, 1, 1, 1, 4, 1, 1, 1, 0,
    /* 131 */ -1, 0, 0, 0, 0, 0, 0, 0, PCI_VENDOR, PCI_VENDOR,
    /* 141 */ 1, 1, 0, 1, 1, 0, 0,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(id: &str, number: usize) -> i64 {
        of(crate::find(id).unwrap())[number - 1].1
    }

    #[test]
    fn every_number_is_there_once() {
        let numbers: Vec<usize> = of(&crate::all()[0]).into_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, (1..=COUNT).collect::<Vec<_>>());
    }

    /// As `deviceQuery` prints them for these cards.
    #[test]
    fn cards_answer_for_themselves() {
        assert_eq!(attribute("rtx-4090", MULTIPROCESSOR_COUNT), 128);
        assert_eq!(attribute("rtx-4090", CLOCK_RATE), 2_520_000);
        assert_eq!(attribute("rtx-4090", MEMORY_CLOCK_RATE), 10_501_000);
        assert_eq!(attribute("rtx-4090", L2_CACHE_SIZE), 75_497_472);
        assert_eq!(attribute("rtx-4090", MAX_PERSISTING_L2_CACHE_SIZE), 51_904_512);
        assert_eq!(attribute("rtx-4090", MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 101_376);
        assert_eq!(attribute("rtx-5090", L2_CACHE_SIZE), 100_663_296);
        assert_eq!(attribute("t4", MAX_THREADS_PER_MULTIPROCESSOR), 1024);
        assert_eq!(attribute("t4", ECC_ENABLED), 1);
        assert_eq!(attribute("a100", MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), 167_936);
    }

    #[test]
    fn hopper_features_stay_on_hopper_and_later() {
        for card in crate::all() {
            let expected = i64::from(card.compute.major >= 9);
            for number in [CLUSTER_LAUNCH, TENSOR_MAP_ACCESS_SUPPORTED] {
                assert_eq!(attribute(&card.id, number), expected, "{}", card.id);
            }
        }
    }

    #[test]
    fn a_slice_cannot_set_l2_aside() {
        assert_eq!(attribute("h100-1g.10gb", MAX_PERSISTING_L2_CACHE_SIZE), 0);
        assert!(attribute("h100", MAX_PERSISTING_L2_CACHE_SIZE) > 0);
    }
}
