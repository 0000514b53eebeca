//! One card.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Deserialize;
use units::Bytes;

use crate::architecture::{Architecture, Compute};
use crate::attributes;

/// A card, as CUDA presents it.
#[derive(Clone, Debug)]
pub struct Card {
    /// What people type: `rtx-4090`.
    pub id: String,
    /// What CUDA calls it: `NVIDIA GeForce RTX 4090`. Variants with more memory may share it.
    pub name: String,
    pub aliases: Vec<String>,
    /// `GeForce RTX 40`.
    pub family: String,
    pub compute: Compute,
    pub multiprocessors: u32,

    /// What CUDA reports as total.
    pub memory_bytes: u64,
    /// What the data sheet calls the memory, a "24 GB" card being one of 24 GiB.
    pub nominal_bytes: u64,
    /// What a process holds outside the allocator once its context exists.
    pub context_bytes: u64,
    /// What it holds further once cuDNN and cuBLAS were used.
    pub library_bytes: u64,
    pub basis: Basis,
    /// Where `memory_bytes` is from.
    pub source: String,

    pub l2_bytes: u64,
    pub clock_mhz: u32,
    /// As CUDA reports it: half the data rate.
    pub memory_clock_mhz: u32,
    pub bus_bits: u32,
    pub bandwidth_gb_s: f64,
    /// To and from the host, one way, of the link's specification.
    pub host_gb_s: f64,
    pub throughput: Throughput,
    /// The data sheet that clocks, bandwidth and throughput are from.
    pub sheet: String,

    pub(crate) features: Features,
    /// Attributes that a rule cannot give, by their number.
    pub(crate) attributes: BTreeMap<usize, i64>,
}

/// Whether the memory figures were measured on the card or derived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    Measured,
    #[default]
    Derived,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Basis::Measured => "measured",
            Basis::Derived => "derived",
        })
    }
}

/// Dense TFLOP/s of the data sheet, tensor cores with float32 sums where there are any. What a card lacks is absent.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throughput {
    pub fp32: f64,
    pub tf32: Option<f64>,
    pub fp16: Option<f64>,
    pub bf16: Option<f64>,
}

/// What differs between cards of one architecture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    pub ecc: bool,
    pub gpudirect_rdma: bool,
    /// A MIG slice.
    pub slice: bool,
    /// Shares the host's memory.
    pub integrated: bool,
    /// Linked coherently to its CPU (GH200, GB200, GB10).
    pub coherent: bool,
    /// In an NVLink fabric, so memory can be exported to other nodes.
    pub fabric: bool,
}

/// The CUDA version that the ghost's driver claims: the newest that all supported PyTorch builds accept.
const DRIVER: u32 = 13000;

impl Card {
    /// The same card with this much memory: `--memory`. More than it has is a card that does not exist, and allowed.
    pub fn with_memory(&self, memory: Bytes) -> Card {
        Card { memory_bytes: memory.0, ..self.clone() }
    }

    pub fn is_measured(&self) -> bool {
        self.basis == Basis::Measured
    }

    pub fn architecture(&self) -> &'static Architecture {
        self.compute.architecture()
    }

    /// What the ghost reads to become this card: a `key=value` a line.
    ///
    /// `attribute.<n>` is the answer to `cuDeviceGetAttribute` for the `CUdevice_attribute` of that number.
    pub fn ghost_text(&self) -> String {
        let mut text = format!(
            "id={}\nname={}\ntotal_bytes={}\ncontext_bytes={}\nlibrary_bytes={}\nmajor={}\nminor={}\ndriver={DRIVER}\n",
            self.id,
            self.name,
            self.memory_bytes,
            self.context_bytes,
            self.library_bytes,
            self.compute.major,
            self.compute.minor,
        );
        for (number, value) in attributes::of(self) {
            let _ = writeln!(text, "attribute.{number}={value}");
        }
        text
    }
}
