//! Finding a card by what a person calls it.

use std::fmt;

use crate::card::Card;

/// No card is called that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    pub asked: String,
    /// Ids of the cards that come nearest, the nearest first; empty if nothing comes near.
    pub nearest: Vec<&'static str>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected the name of a card, found `{}`", self.asked)?;
        if self.nearest.is_empty() {
            return Ok(());
        }
        write!(f, "; the nearest are {}", self.nearest.join(", "))
    }
}

impl std::error::Error for NotFound {}

pub(crate) fn find(cards: &'static [Card], asked: &str) -> Result<&'static Card, NotFound> {
    let wanted = key(asked);
    let called = |card: &&Card| handles(card).any(|handle| key(handle) == wanted);
    // Variants share a CUDA name, and the commonest comes first in its file; ids and aliases belong to one card.
    let named = |card: &&Card| key(&card.name) == wanted;
    let found = cards.iter().find(called).or_else(|| cards.iter().find(named));
    found.ok_or_else(|| NotFound { asked: asked.to_owned(), nearest: nearest(cards, asked) })
}

fn handles(card: &Card) -> impl Iterator<Item = &str> {
    std::iter::once(&card.id).chain(&card.aliases).map(String::as_str)
}

/// Words that tell no card from another.
const NOISE: [&str; 4] = ["nvidia", "geforce", "tesla", "gpu"];

/// What is left of a name when case, spaces, dashes and [`NOISE`] are gone: `rtx4090`, `a10080g`.
pub(crate) fn key(name: &str) -> String {
    let name = name.to_lowercase();
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| !NOISE.contains(word)).map(usual).collect()
}

/// The usual spelling of a word: `80gb` is `80g`, and `mobile` is `laptop`.
fn usual(word: &str) -> String {
    let sized = word.strip_suffix("gb").filter(|size| size.ends_with(|c: char| c.is_ascii_digit()));
    sized.map_or_else(|| word.to_owned(), |size| format!("{size}g")).replace("mobile", "laptop")
}

const MOST_SUGGESTIONS: usize = 4;
/// Below this, a suggestion would only puzzle.
const LEAST_LIKENESS: f64 = 0.75;

fn nearest(cards: &'static [Card], asked: &str) -> Vec<&'static str> {
    let rated = cards.iter().map(|card| (likeness(card, asked), card.id.as_str()));
    let mut rated: Vec<(f64, &str)> = rated.filter(|(likeness, _)| *likeness >= LEAST_LIKENESS).collect();
    rated.sort_by(|a, b| b.0.total_cmp(&a.0));
    rated.into_iter().take(MOST_SUGGESTIONS).map(|(_, id)| id).collect()
}

/// How near a card comes, from 0 to 2: how few letters differ, and how many words are the same.
fn likeness(card: &Card, asked: &str) -> f64 {
    let of =
        |handle: &str| strsim::normalized_damerau_levenshtein(&key(handle), &key(asked)) + shared_words(handle, asked);
    handles(card).map(of).fold(0.0, f64::max)
}

/// The part of both names' words that both have, 0 to 1. Letters and digits are apart: `rtx4090` is `rtx` and `4090`.
fn shared_words(a: &str, b: &str) -> f64 {
    let (a, b) = (words(a), words(b));
    let shared: f64 = a.iter().filter(|word| b.contains(word)).map(|word| weight(word)).sum();
    let all = a.iter().chain(&b).map(|word| weight(word)).sum::<f64>() - shared;
    if all == 0.0 { 0.0 } else { shared / all }
}

/// A longer word says more, and the number of a model most: `4090 super` means a 4090 rather than some super.
fn weight(word: &str) -> f64 {
    let length = word.len() as f64;
    if word.starts_with(|c: char| c.is_ascii_digit()) { 3.0 * length } else { length }
}

fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    for c in name.to_lowercase().chars() {
        let kind = if c.is_ascii_digit() { Some(true) } else { c.is_alphabetic().then_some(false) };
        match (words.last_mut(), kind) {
            (Some(word), Some(_)) if kind == before => word.push(c),
            (_, Some(_)) => words.push(c.into()),
            (_, None) => {}
        }
        before = kind;
    }
    words.retain(|word| !NOISE.contains(&word.as_str()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{all, find};

    fn found(name: &str) -> &'static str {
        &find(name).unwrap_or_else(|error| panic!("{error}")).id
    }

    fn suggested(name: &str) -> Vec<&'static str> {
        find(name).map(|card| panic!("{name} is {}", card.id)).unwrap_or_else(|error: NotFound| error.nearest)
    }

    #[test]
    fn finds_a_card_however_it_is_written() {
        for name in
            ["4090", "rtx4090", "rtx-4090", "RTX 4090", "GeForce RTX 4090", "NVIDIA GeForce RTX 4090", " rtx_4090 "]
        {
            assert_eq!(found(name), "rtx-4090", "{name}");
        }
        for name in ["a100-80g", "a100-80gb", "A100 80GB", "a100_80g", "NVIDIA A100-SXM4-80GB"] {
            assert_eq!(found(name), "a100-80g", "{name}");
        }
        for name in ["t4", "T4", "Tesla T4", "colab"] {
            assert_eq!(found(name), "t4", "{name}");
        }
        for name in ["4060 laptop", "rtx-4060-mobile", "NVIDIA GeForce RTX 4060 Laptop GPU", "4060mobile"] {
            assert_eq!(found(name), "rtx-4060-laptop", "{name}");
        }
        for name in ["4070tisuper", "RTX 4070 Ti SUPER", "4070 ti super"] {
            assert_eq!(found(name), "rtx-4070-ti-super", "{name}");
        }
        assert_eq!(found("4060ti 16GB"), "rtx-4060-ti-16gb");
        assert_eq!(found("A100-SXM4-40GB MIG 1g.5gb"), "a100-40g-1g.5gb");
        assert_eq!(found("h100 1g.10gb"), "h100-1g.10gb");
        assert_eq!(found("titan rtx"), "titan-rtx");
    }

    /// The defaults that the documentation of [`find`] promises.
    #[test]
    fn a_shared_name_means_the_commonest_card() {
        let defaults = [
            ("a100", "a100-80g"),
            ("h100", "h100"),
            ("v100", "v100-16g"),
            ("p100", "p100"),
            ("rtx-3060", "rtx-3060"),
            ("3080", "rtx-3080"),
            ("4060 ti", "rtx-4060-ti"),
            ("5060 ti", "rtx-5060-ti"),
            ("NVIDIA GeForce RTX 3050", "rtx-3050"),
        ];
        for (name, id) in defaults {
            assert_eq!(found(name), id, "{name}");
        }
    }

    #[test]
    fn every_card_is_found_by_all_its_names() {
        for card in all() {
            for handle in handles(card) {
                assert_eq!(found(handle), card.id, "{handle}");
            }
            assert_eq!(find(&card.name).unwrap().name, card.name);
        }
    }

    #[test]
    fn suggests_the_nearest() {
        assert_eq!(suggested("rtx 4091")[0], "rtx-4090");
        assert_eq!(suggested("rtx-409")[0], "rtx-4090");
        assert_eq!(suggested("a100-60g")[0], "a100-80g");
        assert_eq!(suggested("h1000")[0], "h100");
        assert_eq!(suggested("gtx 3090")[0], "rtx-3090");
        assert!(suggested("4090 super").contains(&"rtx-4090"));
        assert!(suggested("a100 5g.5gb").iter().all(|id| id.starts_with("a100")));
        assert!(suggested("titan").iter().all(|id| id.starts_with("titan")));
        assert!(suggested("rtx 4091").len() <= MOST_SUGGESTIONS);
    }

    #[test]
    fn suggests_nothing_where_nothing_is_near() {
        assert_eq!(suggested("radeon"), [""; 0]);
        assert_eq!(suggested("banana"), [""; 0]);
        assert_eq!(suggested(""), [""; 0]);
    }

    #[test]
    fn says_what_was_asked() {
        assert_eq!(find("banana").unwrap_err().to_string(), "expected the name of a card, found `banana`");
        let error = NotFound { asked: "rtx-4091".into(), nearest: vec!["rtx-4090", "rtx-4090-d"] };
        assert_eq!(
            error.to_string(),
            "expected the name of a card, found `rtx-4091`; the nearest are rtx-4090, rtx-4090-d"
        );
    }
}
