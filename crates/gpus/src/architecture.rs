//! What all cards of one compute capability share.

use std::fmt;
use std::str::FromStr;

/// A compute capability: 8.9 is Ada Lovelace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Compute {
    pub major: u32,
    pub minor: u32,
}

impl Compute {
    /// Its table. The catalogue holds no card without one: reading it checks.
    pub(crate) fn architecture(self) -> &'static Architecture {
        Architecture::of(self).expect("every card's compute capability has a table")
    }
}

impl fmt::Display for Compute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Compute {
    type Err = String;

    fn from_str(text: &str) -> Result<Compute, String> {
        let numbers = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let (major, minor) =
            numbers.ok_or_else(|| format!("expected a compute capability such as 8.9, found `{text}`"))?;
        Ok(Compute { major, minor })
    }
}

/// The limits of one compute capability, and the attributes that follow from it.
#[derive(Clone, Copy, Debug)]
pub struct Architecture {
    pub compute: Compute,
    pub name: &'static str,
    pub threads_per_multiprocessor: u32,
    pub blocks_per_multiprocessor: u32,
    pub shared_per_multiprocessor: u32,
    /// The most that a kernel can ask for with `cudaFuncSetAttribute`.
    pub shared_per_block_optin: u32,
    /// Of `shared_per_multiprocessor`, what the driver keeps for each block.
    pub shared_reserved_per_block: u32,
    /// float32 operations for each float64 operation, as the driver reports it.
    pub float64_ratio: u32,
    pub copy_engines: u32,
    /// Of L2, how much may be set aside for persisting accesses.
    pub persisting_l2: f64,
    /// `CUaccessPolicyWindow::num_bytes` at most.
    pub access_window: u32,
    pub texture_1d_linear: u32,
}

const KIB: u32 = 1024;

impl Architecture {
    pub(crate) fn of(compute: Compute) -> Option<&'static Architecture> {
        ARCHITECTURES.iter().find(|architecture| architecture.compute == compute)
    }

    /// Thread block clusters, the tensor memory accelerator, unified function pointers: from Hopper on.
    pub(crate) fn has_clusters(&self) -> bool {
        self.compute.major >= 9
    }

    /// Compressible memory, L2 set-asides and the shared memory that the driver keeps: from Ampere on.
    pub(crate) fn has_l2_controls(&self) -> bool {
        self.compute.major >= 8
    }
}

const fn architecture(
    (major, minor): (u32, u32),
    name: &'static str,
    (threads, blocks): (u32, u32),
    (shared, optin, reserved): (u32, u32, u32),
) -> Architecture {
    Architecture {
        compute: Compute { major, minor },
        name,
        threads_per_multiprocessor: threads,
        blocks_per_multiprocessor: blocks,
        shared_per_multiprocessor: shared * KIB,
        shared_per_block_optin: optin * KIB,
        shared_reserved_per_block: reserved * KIB,
        float64_ratio: 2,
        copy_engines: 2,
        persisting_l2: 0.0,
        access_window: 0,
        texture_1d_linear: 1 << 28,
    }
}

/// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", agrees with CCCL's
/// `cuda/__device/arch_traits.h` on threads, blocks and shared memory. The rest is what is publicly known of cards
/// of that capability; L2 set-asides: CUDA C++ Best Practices Guide (30 of 40 MiB on the A100), the measured H200
/// (5/8), and 11/16 on GeForce cards from Ampere on.
#[rustfmt::skip]
static ARCHITECTURES: [Architecture; 12] = [
    Architecture { ..architecture((6, 0), "Pascal", (2048, 32), (64, 48, 0)) },
    Architecture { float64_ratio: 32, texture_1d_linear: 1 << 27, ..architecture((6, 1), "Pascal", (2048, 32), (96, 48, 0)) },
    Architecture { copy_engines: 5, ..architecture((7, 0), "Volta", (2048, 32), (96, 96, 0)) },
    Architecture { float64_ratio: 32, copy_engines: 3, ..architecture((7, 5), "Turing", (1024, 16), (64, 64, 0)) },
    Architecture { copy_engines: 3, persisting_l2: 0.75, access_window: 128 * KIB * KIB, ..architecture((8, 0), "Ampere", (2048, 32), (164, 163, 1)) },
    Architecture { float64_ratio: 32, persisting_l2: 0.6875, access_window: 128 * KIB * KIB - 4 * KIB, ..architecture((8, 6), "Ampere", (1536, 16), (100, 99, 1)) },
    Architecture { float64_ratio: 64, persisting_l2: 0.6875, access_window: 128 * KIB * KIB - 4 * KIB, ..architecture((8, 9), "Ada Lovelace", (1536, 24), (100, 99, 1)) },
    Architecture { copy_engines: 3, persisting_l2: 0.625, access_window: 128 * KIB * KIB, ..architecture((9, 0), "Hopper", (2048, 32), (228, 227, 1)) },
    Architecture { copy_engines: 4, persisting_l2: 0.625, access_window: 128 * KIB * KIB, ..architecture((10, 0), "Blackwell", (2048, 32), (228, 227, 1)) },
    Architecture { float64_ratio: 64, copy_engines: 4, persisting_l2: 0.625, access_window: 128 * KIB * KIB, ..architecture((10, 3), "Blackwell", (2048, 32), (228, 227, 1)) },
    Architecture { float64_ratio: 64, persisting_l2: 0.6875, access_window: 128 * KIB * KIB, ..architecture((12, 0), "Blackwell", (1536, 24), (100, 99, 1)) },
    Architecture { float64_ratio: 64, copy_engines: 1, persisting_l2: 0.6875, access_window: 128 * KIB * KIB, ..architecture((12, 1), "Blackwell", (1536, 24), (100, 99, 1)) },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_compute_capability() {
        assert_eq!("8.9".parse(), Ok(Compute { major: 8, minor: 9 }));
        assert_eq!("12.0".parse(), Ok(Compute { major: 12, minor: 0 }));
        assert_eq!("sm_89".parse::<Compute>().unwrap_err(), "expected a compute capability such as 8.9, found `sm_89`");
    }

    #[test]
    fn the_table_is_in_order_and_within_itself() {
        assert!(ARCHITECTURES.windows(2).all(|pair| pair[0].compute < pair[1].compute));
        for row in &ARCHITECTURES {
            let most = row.shared_per_multiprocessor - row.shared_reserved_per_block;
            assert!(row.shared_per_block_optin <= most, "{}", row.compute);
            assert_eq!(row.threads_per_multiprocessor % 32, 0, "{}", row.compute);
            assert_eq!(row.has_l2_controls(), row.access_window > 0, "{}", row.compute);
            assert_eq!(row.has_l2_controls(), row.shared_reserved_per_block > 0, "{}", row.compute);
        }
    }
}
