//! The catalogue's files: a family of cards each, read into [`Card`]s.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use units::Bytes;

use crate::architecture::{Architecture, Compute};
use crate::card::{Basis, Card, Features, Throughput};
use crate::{attributes, link, overhead};

macro_rules! families {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../cards/", $name, ".toml")))),*] };
}

/// Every file of `cards/`, in the order people look for cards.
pub(crate) const FAMILIES: &[(&str, &str)] = families![
    "geforce-50",
    "geforce-40",
    "geforce-30",
    "geforce-20",
    "geforce-16",
    "geforce-10",
    "rtx-blackwell",
    "rtx-ada",
    "rtx-ampere",
    "rtx-turing",
    "data-center-blackwell",
    "data-center-hopper",
    "data-center-ada",
    "data-center-ampere",
    "data-center-turing",
    "volta",
    "tesla-pascal",
    "mig",
];

pub(crate) fn read_all() -> Vec<Card> {
    // The files are part of the program: a test reads all of them, so nobody meets this.
    FAMILIES
        .iter()
        .flat_map(|(name, text)| read(text).unwrap_or_else(|error| panic!("cards/{name}.toml: {error}")))
        .collect()
}

fn read(text: &str) -> Result<Vec<Card>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    file.cards.into_iter().map(|entry| entry.into_card(&file.family)).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    family: Family,
    #[serde(rename = "card")]
    cards: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    compute: String,
    ecc: bool,
    gpudirect_rdma: bool,
    sheet: String,
    /// `4.0 x16`: generation and lanes.
    pcie: String,
    reserve: Option<Reserve>,
}

/// What the driver keeps of a card's memory, for cards whose total nobody has reported.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reserve {
    mib: f64,
    mib_per_gib: f64,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    /// Where it differs from the family's.
    compute: Option<String>,
    ecc: Option<bool>,
    #[serde(default)]
    slice: bool,
    #[serde(default)]
    integrated: bool,
    #[serde(default)]
    coherent: bool,
    #[serde(default)]
    fabric: bool,
    #[serde(deserialize_with = "size")]
    nominal: u64,
    #[serde(default, deserialize_with = "some_size")]
    total: Option<u64>,
    source: Option<String>,
    #[serde(default)]
    basis: Basis,
    #[serde(default, deserialize_with = "some_size")]
    context: Option<u64>,
    #[serde(default, deserialize_with = "some_size")]
    libraries: Option<u64>,
    multiprocessors: u32,
    clock_mhz: u32,
    memory_clock_mhz: u32,
    bus_bits: u32,
    #[serde(deserialize_with = "size")]
    l2: u64,
    bandwidth_gb_s: f64,
    /// Where it differs from the family's.
    pcie: Option<String>,
    /// Where the link to the host is none of PCIe.
    host_gb_s: Option<f64>,
    tflops: Throughput,
    #[serde(default)]
    attributes: BTreeMap<String, i64>,
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse::<Bytes>().map(|bytes| bytes.0).map_err(serde::de::Error::custom)
}

fn some_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    size(deserializer).map(Some)
}

impl Entry {
    fn into_card(self, family: &Family) -> Result<Card, String> {
        let compute: Compute = self.compute.as_ref().unwrap_or(&family.compute).parse()?;
        let architecture = Architecture::of(compute)
            .ok_or_else(|| format!("{}: no table for compute capability {compute}", self.id))?;
        let (memory_bytes, source) = self.memory(family)?;
        let derived = overhead::derived(self.multiprocessors, architecture);
        let link = link::gb_s(self.pcie.as_ref().unwrap_or(&family.pcie))?;
        Ok(Card {
            features: self.features(family),
            attributes: numbered(&self.attributes)?,
            id: self.id,
            name: self.name,
            aliases: self.aliases,
            family: family.name.clone(),
            compute,
            multiprocessors: self.multiprocessors,
            memory_bytes,
            nominal_bytes: self.nominal,
            context_bytes: self.context.unwrap_or(derived.context_bytes),
            library_bytes: self.libraries.unwrap_or(derived.library_bytes),
            basis: self.basis,
            source,
            l2_bytes: self.l2,
            clock_mhz: self.clock_mhz,
            memory_clock_mhz: self.memory_clock_mhz,
            bus_bits: self.bus_bits,
            bandwidth_gb_s: self.bandwidth_gb_s,
            host_gb_s: self.host_gb_s.unwrap_or(link),
            throughput: self.tflops,
            sheet: family.sheet.clone(),
        })
    }

    /// The total and where it is from: as the entry says, or by the family's rule.
    fn memory(&self, family: &Family) -> Result<(u64, String), String> {
        match (self.total, &self.source, &family.reserve) {
            (Some(total), Some(source), _) => Ok((total, source.clone())),
            (Some(_), None, _) => Err(format!("{}: has a total, but no source for it", self.id)),
            (None, Some(_), _) => Err(format!("{}: has a source, but no total", self.id)),
            (None, None, Some(reserve)) => Ok(reserve.applied_to(self.nominal)),
            (None, None, None) => Err(format!("{}: has no total, and its family no reserve to derive one", self.id)),
        }
    }

    fn features(&self, family: &Family) -> Features {
        Features {
            ecc: self.ecc.unwrap_or(family.ecc),
            gpudirect_rdma: family.gpudirect_rdma,
            slice: self.slice,
            integrated: self.integrated,
            coherent: self.coherent,
            fabric: self.fabric,
        }
    }
}

impl Reserve {
    fn applied_to(&self, nominal: u64) -> (u64, String) {
        let gib = nominal as f64 / Bytes::GIB.0 as f64;
        let mib = (self.mib + self.mib_per_gib * gib).round() as u64;
        let total = nominal.saturating_sub(mib * Bytes::MIB.0);
        (total, format!("derived: {} less {mib} MiB, {}", Bytes(nominal), self.source))
    }
}

fn numbered(attributes: &BTreeMap<String, i64>) -> Result<BTreeMap<usize, i64>, String> {
    let number = |text: &str| text.parse().ok().filter(|number| (1..=attributes::COUNT).contains(number));
    attributes
        .iter()
        .map(|(text, value)| Ok((number(text).ok_or_else(|| format!("no CUdevice_attribute {text}"))?, *value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: &str = r#"
        [family]
        name = "Test"
        compute = "8.9"
        ecc = false
        gpudirect_rdma = false
        sheet = "a sheet"
        pcie = "4.0 x8"
    "#;
    const CARD: &str = r#"
        [[card]]
        id = "test"
        name = "NVIDIA Test"
        nominal = "8 GiB"
        multiprocessors = 24
        clock_mhz = 2460
        memory_clock_mhz = 8501
        bus_bits = 128
        l2 = "24 MiB"
        bandwidth_gb_s = 272
        tflops = { fp32 = 15.1 }
    "#;

    #[test]
    fn every_file_is_registered() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cards");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = files.collect();
        let mut registered: Vec<String> = FAMILIES.iter().map(|(name, _)| format!("{name}.toml")).collect();
        files.sort();
        registered.sort();
        assert_eq!(files, registered);
    }

    #[test]
    fn a_total_nobody_reported_is_derived() {
        let reserve = "[family.reserve]\nmib = 331.5\nmib_per_gib = 6.8\nsource = \"by a rule\"\n";
        let card = &read(&format!("{FAMILY}{reserve}{CARD}")).unwrap()[0];
        assert_eq!(card.memory_bytes, (8192 - 386) << 20);
        assert_eq!(card.source, "derived: 8 GiB less 386 MiB, by a rule");
        assert_eq!(card.basis, Basis::Derived);
    }

    #[test]
    fn an_incomplete_card_is_refused() {
        let refused = |text: &str| read(&format!("{FAMILY}{CARD}{text}")).unwrap_err();
        assert_eq!(refused(""), "test: has no total, and its family no reserve to derive one");
        assert_eq!(refused("total = \"7 GiB\""), "test: has a total, but no source for it");
        assert_eq!(refused("compute = \"8.8\""), "test: no table for compute capability 8.8");
        assert!(refused("memory = \"8 GiB\"").contains("unknown field `memory`"));
        let reported = "total = \"7 GiB\"\nsource = \"a log\"\n";
        let slow = refused(&format!("{reported}pcie = \"2.5 x4\""));
        assert_eq!(slow, "no PCIe 2.5 x4: expected a generation and lanes, as in 4.0 x16");
        assert_eq!(refused(&format!("{reported}attributes = {{ 148 = 1 }}")), "no CUdevice_attribute 148");
    }
}
