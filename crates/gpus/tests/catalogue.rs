//! The catalogue checks itself: names that belong to one card, numbers that can be, a source for each.

use std::collections::HashMap;

use gpus::{Basis, Card, all, find};
use units::Bytes;

#[test]
fn holds_the_cards_that_people_have() {
    assert!(all().len() >= 45, "only {} cards", all().len());
    let expected = [
        "gtx-1080-ti",
        "gtx-1660-super",
        "rtx-2080-ti",
        "rtx-3060",
        "rtx-3090",
        "rtx-4090",
        "rtx-5090",
        "rtx-3060-laptop",
        "rtx-4060-laptop",
        "rtx-4090-laptop",
        "rtx-5090-laptop",
        "rtx-a2000",
        "rtx-a4000",
        "rtx-a4500",
        "rtx-a5000",
        "rtx-a5500",
        "rtx-a6000",
        "rtx-4000-ada",
        "rtx-5000-ada",
        "rtx-6000-ada",
        "rtx-pro-6000",
        "titan-xp",
        "titan-v",
        "titan-rtx",
        "t4",
        "v100-16g",
        "v100-32g",
        "p100",
        "l4",
        "l40",
        "l40s",
        "a10",
        "a10g",
        "a30",
        "a40",
        "a100-40g",
        "a100-80g",
        "h100",
        "h100-pcie",
        "h100-nvl",
        "gh200",
        "h200",
        "b200",
        "b300",
        "gb10",
        "a100-40g-1g.5gb",
        "a100-40g-3g.20gb",
        "a100-80g-1g.10gb",
        "h100-2g.20gb",
        "h200-1g.18gb",
    ];
    for id in expected {
        assert_eq!(find(id).unwrap().id, id);
    }
}

/// As people type them: case, spaces, dashes and "GB" for "G" make no difference.
fn typed(name: &str) -> String {
    name.to_lowercase().replace("gb", "g").chars().filter(|c| c.is_alphanumeric()).collect()
}

#[test]
fn ids_and_aliases_belong_to_one_card() {
    let mut owners: HashMap<String, &str> = HashMap::new();
    for card in all() {
        for handle in std::iter::once(&card.id).chain(&card.aliases) {
            let other = owners.insert(typed(handle), &card.id);
            assert_eq!(other, None, "`{handle}` of {}", card.id);
        }
    }
}

#[test]
fn ids_are_written_alike() {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    for card in all() {
        assert!(card.id.chars().all(allowed), "{}", card.id);
    }
}

#[test]
fn every_card_could_be() {
    for card in all() {
        let id = &card.id;
        assert!(card.memory_bytes <= card.nominal_bytes, "{id}: {} of {}", card.memory_bytes, card.nominal_bytes);
        assert!(card.memory_bytes * 100 >= card.nominal_bytes * 88, "{id}: {} is too little", Bytes(card.memory_bytes));
        assert!(card.context_bytes > 0 && card.library_bytes > 0, "{id}");
        assert!(card.context_bytes + card.library_bytes < card.memory_bytes / 4, "{id}");
        assert!((4..=256).contains(&card.multiprocessors), "{id}");
        assert!(card.architecture().compute == card.compute, "{id}");
        assert!(!card.source.is_empty() && !card.sheet.is_empty(), "{id}");
        assert!((500..4000).contains(&card.clock_mhz), "{id}");
        assert!(card.l2_bytes >= 1 << 20, "{id}");
    }
}

/// A slip in clock, bus or bandwidth shows here: the three belong together.
#[test]
fn bandwidth_follows_from_clock_and_bus() {
    for card in all() {
        let expected = 2.0 * f64::from(card.memory_clock_mhz) * f64::from(card.bus_bits) / 8.0 / 1000.0;
        // The GB10's bus is counted at another rate.
        let tolerance = if card.id == "gb10" { 1.0 } else { 0.02 };
        let off = (card.bandwidth_gb_s - expected).abs() / expected;
        assert!(off <= tolerance, "{}: {} GB/s, {expected} by clock and bus", card.id, card.bandwidth_gb_s);
    }
}

/// So does one in multiprocessors or throughput.
#[test]
fn throughput_is_in_order() {
    for card in all() {
        let speed = card.throughput;
        assert!(speed.fp32 > 0.5, "{}", card.id);
        assert_eq!(speed.tf32.is_some(), card.compute.major >= 8, "{}", card.id);
        assert_eq!(speed.bf16.is_some(), card.compute.major >= 8, "{}", card.id);
        assert!(speed.fp16.is_none_or(|fp16| fp16 >= speed.fp32 * 0.99), "{}", card.id);
    }
}

/// Float32 throughput is multiprocessors times clock times lanes; what a data sheet rounds or counts at another clock is
/// within 15 % of it.
#[test]
fn throughput_follows_from_multiprocessors_and_clock() {
    for card in all() {
        let lanes = match (card.compute.major, card.compute.minor) {
            (6, 0) | (7, _) | (8, 0) => 64.0,
            _ => 128.0,
        };
        let expected = f64::from(card.multiprocessors) * f64::from(card.clock_mhz) * lanes * 2.0 / 1e6;
        let off = (card.throughput.fp32 - expected).abs() / expected;
        assert!(off <= 0.15, "{}: {} TFLOP/s, {expected:.1} by clock", card.id, card.throughput.fp32);
    }
}

/// GeForce cards halve tensor cores that sum in float32, the others do not: 2 or 4 times float32 since Ampere.
#[test]
fn tensor_cores_sum_in_float32() {
    for card in all().iter().filter(|card| card.id.starts_with("rtx-") && card.family.starts_with("GeForce")) {
        let (fp32, fp16) = (card.throughput.fp32, card.throughput.fp16.unwrap());
        let times = if card.compute.major == 7 { 4.0 } else { 2.0 };
        assert!((fp16 / fp32 - times).abs() < 0.05, "{}: {fp16} of {fp32}", card.id);
    }
}

#[test]
fn every_card_has_a_link_to_its_host() {
    let of = |id: &str| find(id).unwrap().host_gb_s;
    assert!((of("h200") - 63.0).abs() < 0.1 && (of("rtx-3060") - 31.5).abs() < 0.1);
    assert!((of("rtx-4060") - 15.75).abs() < 0.1 && (of("t4") - 15.75).abs() < 0.1);
    assert!((of("gh200") - 450.0).abs() < 0.1);
}

#[test]
fn only_what_was_measured_says_so() {
    let measured: Vec<&str> = all().iter().filter(|card| card.is_measured()).map(|card| card.id.as_str()).collect();
    assert_eq!(measured, ["h200"]);
    for card in all() {
        let word = card.source.split(':').next().unwrap();
        let expected: &[&str] = if card.basis == Basis::Measured { &["measured"] } else { &["reported", "derived"] };
        assert!(expected.contains(&word), "{}: {}", card.id, card.source);
    }
}

#[test]
fn the_h200_is_as_measured() {
    let card = find("h200").unwrap();
    assert_eq!(card.memory_bytes, 150_109_880_320);
    assert_eq!(card.context_bytes, 518 << 20);
    assert_eq!(card.context_bytes + card.library_bytes, 645 << 20);
}

fn lines(card: &Card) -> Vec<(String, String)> {
    let text = card.ghost_text();
    text.lines().map(|line| line.split_once('=').unwrap()).map(|(key, value)| (key.into(), value.into())).collect()
}

#[test]
fn the_h200_answers_every_attribute_as_it_did() {
    let fixture: serde_json::Value = serde_json::from_str(include_str!("fixtures/h200.attributes.json")).unwrap();
    let truth = fixture["attributes"].as_object().unwrap();
    let told: HashMap<String, String> = lines(find("h200").unwrap()).into_iter().collect();
    assert_eq!(truth.len(), told.keys().filter(|key| key.starts_with("attribute.")).count());
    for (number, value) in truth {
        assert_eq!(told[&format!("attribute.{number}")], value.to_string(), "attribute {number}");
    }
}

#[test]
fn the_ghost_reads_a_card_from_text() {
    let card = find("rtx-4090").unwrap().with_memory(Bytes(11 << 30));
    let text = card.ghost_text();
    let head: Vec<&str> = text.lines().take(9).collect();
    let expected = [
        "id=rtx-4090",
        "name=NVIDIA GeForce RTX 4090",
        "total_bytes=11811160064",
        "context_bytes=406847488",
        "library_bytes=96468992",
        "major=8",
        "minor=9",
        "driver=13000",
        "attribute.1=1024",
    ];
    assert_eq!(head, expected);
    assert_eq!(text.lines().count(), 8 + 147);
}

#[test]
fn capping_changes_the_memory_and_nothing_else() {
    let card = find("h200").unwrap();
    let capped = card.with_memory(Bytes(8 << 30));
    let changed: Vec<_> = lines(card).into_iter().zip(lines(&capped)).filter(|(a, b)| a != b).map(|(_, b)| b).collect();
    assert_eq!(changed, [("total_bytes".into(), (8_u64 << 30).to_string())]);
}
