//! `oomph gpus`: the catalogue of cards.

use gpus::Card;
use serde::Serialize;
use units::Bytes;

use crate::args::GpusArgs;
use crate::exit::ExitStatus;
use crate::output;

pub fn run(options: &GpusArgs) -> ExitStatus {
    let cards: Vec<&Card> = gpus::all().iter().filter(|card| matches(card, &options.words)).collect();
    output::answer(&if options.json { json_of(&cards) } else { table(&cards, &options.words) });
    if cards.is_empty() { ExitStatus::DoesNotFit } else { ExitStatus::Fits }
}

fn matches(card: &Card, words: &[String]) -> bool {
    let text = format!("{} {} {} {}", card.id, card.name, card.family, card.aliases.join(" ")).to_lowercase();
    words.iter().all(|word| text.contains(&word.to_lowercase()))
}

fn table(cards: &[&Card], words: &[String]) -> String {
    if cards.is_empty() {
        return format!("No card matches {}; `oomph gpus` lists all of them\n", words.join(" "));
    }
    let width = |of: fn(&Card) -> &str| cards.iter().map(|card| of(card).len()).max().unwrap_or(0);
    let (id, name) = (width(|card| &card.id), width(|card| &card.name));
    cards.iter().map(|card| row(card, id, name)).collect()
}

fn row(card: &Card, id: usize, name: usize) -> String {
    let line = format!(
        "{:id$}  {:name$}  {:>9}  {:<8}  {}",
        card.id,
        card.name,
        Bytes(card.memory_bytes),
        card.basis,
        card.aliases.join(" ")
    );
    format!("{}\n", line.trim_end())
}

fn json_of(cards: &[&Card]) -> String {
    let gpus = cards.iter().map(|card| Entry::new(card)).collect();
    serde_json::to_string_pretty(&Document { schema: 1, gpus }).expect("plain data always serialises") + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    gpus: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    name: &'a str,
    aliases: &'a [String],
    family: &'a str,
    compute: String,
    memory_bytes: u64,
    context_bytes: u64,
    library_bytes: u64,
    basis: String,
    source: &'a str,
}

impl Entry<'_> {
    fn new(card: &Card) -> Entry<'_> {
        Entry {
            id: &card.id,
            name: &card.name,
            aliases: &card.aliases,
            family: &card.family,
            compute: format!("{}.{}", card.compute.major, card.compute.minor),
            memory_bytes: card.memory_bytes,
            context_bytes: card.context_bytes,
            library_bytes: card.library_bytes,
            basis: card.basis.to_string(),
            source: &card.source,
        }
    }
}
