//! From what the user wishes to what is replayed, and from there to an answer.

use std::path::PathBuf;

use gpus::Card;
use report::explained::WhatIf;
use trace::{Action, Crash, Device, History, Recording};
use units::Bytes;

use super::requests::{Request, requests};
use super::run::{Replayed, Settings, replay};
use crate::error::Error;
use crate::python::{self, Subject};

/// A card with more memory than most, for recordings that do not say theirs.
const LARGE_CARD: &str = "h200";

/// What should have been different.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The Python that has torch.
    pub python: Option<PathBuf>,
    /// In place of the recorded settings, as `PYTORCH_CUDA_ALLOC_CONF`.
    pub alloc_conf: Option<String>,
    /// In place of the recorded card's memory.
    pub memory: Option<Bytes>,
}

/// What is known of one device's run.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub recording: &'a Recording,
    /// Index into the recording's devices.
    pub device: usize,
    pub history: &'a History,
    pub crash: Option<&'a Crash>,
}

/// Would it have survived?
pub fn ask(known: Known, wish: &Wish) -> Result<WhatIf, Error> {
    let python = python::ask(&python::find(wish.python.as_deref())?, Subject::Nothing)?;
    python.check(Subject::Nothing)?;
    let room = Room::of(known, wish);
    let recorded = known.recording.settings.text.clone().unwrap_or_default();
    let settings = Settings {
        python: python.executable.clone(),
        card: room.card.clone(),
        alloc_conf: wish.alloc_conf.clone().unwrap_or(recorded),
        limit_bytes: room.limit,
    };
    let requests = requests(known.recording, known.device, known.history);
    let replayed = replay(&requests, &settings)?;
    let mut notes = notes(known, &replayed);
    notes.extend(room.note);
    Ok(answer(wish, &requests, &replayed, notes))
}

fn answer(wish: &Wish, requests: &[Request], replayed: &Replayed, notes: Vec<String>) -> WhatIf {
    let wants = |request: &&Request| matches!(request, Request::Allocate { .. } | Request::Refused { .. });
    let number = |until: usize| requests[..until].iter().filter(wants).count() as u64;
    let refused = replayed.died_at.filter(|&at| at < requests.len());
    WhatIf {
        alloc_conf: wish.alloc_conf.clone(),
        memory_bytes: wish.memory.map(|memory| memory.0),
        survives: Some(replayed.survived()),
        peak_reserved_bytes: Some(replayed.peak_reserved_bytes),
        refused: refused.map(|at| (number(at + 1), number(requests.len()))),
        refused_bytes: refused.and_then(|at| bytes(&requests[at])),
        notes,
    }
}

fn bytes(request: &Request) -> Option<u64> {
    match *request {
        Request::Allocate { bytes, .. } | Request::Refused { bytes, .. } => Some(bytes),
        Request::Free { .. } | Request::EmptyCache => None,
    }
}

/// How much memory there is for PyTorch, and where that is from.
struct Room {
    card: Card,
    limit: Option<u64>,
    note: Option<String>,
}

impl Room {
    fn of(known: Known, wish: &Wish) -> Room {
        let recording = known.recording;
        let card = recording.gpu.as_deref().and_then(|name| gpus::find(name).ok());
        let card = card.or_else(|| gpus::find(LARGE_CARD).ok()).expect("the catalogue has it");
        let total = recording.gpu_bytes.map_or_else(|| card.clone(), |bytes| card.with_memory(Bytes(bytes)));
        let room = |card: Card, limit, note| Room { card: with_libraries(card), limit, note };
        if let Some(memory) = wish.memory {
            return room(card.with_memory(memory), None, None);
        }
        if let Some(allowed) = known.crash.and_then(|crash| crash.message.allowed) {
            let note = "the limit is the one of the error message, which shows two decimals of it";
            return room(total, Some(allowed.high()), Some(note.into()));
        }
        if recording.gpu_bytes.is_some() {
            let limit = fraction(recording).map(|fraction| (fraction * total.memory_bytes as f64) as u64);
            return room(total, limit, None);
        }
        match refused(known) {
            Some((limit, note)) => room(large_enough(card, limit), Some(limit), Some(note)),
            None => room(large_enough(card, 0), None, Some("how much memory the card had is not known".into())),
        }
    }
}

/// What cuDNN and cuBLAS hold counts from the beginning: a replay does not use them.
fn with_libraries(mut card: Card) -> Card {
    card.context_bytes += std::mem::take(&mut card.library_bytes);
    card
}

fn large_enough(card: &Card, limit: u64) -> Card {
    let beside = card.context_bytes + card.library_bytes;
    card.with_memory(Bytes(card.memory_bytes.max(limit.saturating_mul(2).saturating_add(beside))))
}

/// `per_process_memory_fraction` among the recorded settings.
fn fraction(recording: &Recording) -> Option<f64> {
    let text = recording.settings.text.as_deref()?;
    text.split(',').find_map(|pair| pair.trim().strip_prefix("per_process_memory_fraction:"))?.parse().ok()
}

/// From the last refused request alone: how much PyTorch could have held.
fn refused(known: Known) -> Option<(u64, String)> {
    let oom = known.history.oom()?;
    let event = known.recording.devices[known.device].events.get(oom);
    let (size, free) = (event.size, event.address);
    let held = known.history.reserved_after(oom);
    if free < size {
        let limit = held + free;
        return Some((limit, format!("PyTorch could hold {} in all: what it had and what was free", Bytes(limit))));
    }
    // The card had room, so a limit was set: as much as was held once was allowed, this request on top was not.
    let limit = known.history.peak()?.reserved_bytes;
    let most = held.saturating_add(size);
    let note = format!("a memory limit was set; it is taken to be {}, and was below {}", Bytes(limit), Bytes(most));
    Some((limit, note))
}

fn notes(known: Known, replayed: &Replayed) -> Vec<String> {
    let device = &known.recording.devices[known.device];
    let allocations = known.history.allocations();
    let older = known.history.live_before_all().len();
    let pools = allocations.iter().any(|(_, allocation)| allocation.pool != (0, 0));
    let torch = known.recording.torch.as_deref().filter(|&torch| torch != replayed.torch);
    let possible = [
        (older > 0).then(|| {
            format!(
                "{older} blocks are older than the recording and were asked for first, in the order of their addresses"
            )
        }),
        pools.then(|| "private pools (CUDA graphs) were replayed as parts of the common one".to_owned()),
        torch.map(|torch| format!("recorded with torch {torch}, replayed with torch {}", replayed.torch)),
        (replayed.retries > 0)
            .then(|| format!("PyTorch had to give its cache back {} times to go on, which is slow", replayed.retries)),
        replayed.died_at.map(|_| {
            let free = replayed.reserved_bytes.saturating_sub(replayed.allocated_bytes);
            let largest = Bytes(replayed.largest_free_bytes);
            format!("{} were reserved and not in use then, the largest piece {largest}", Bytes(free))
        }),
        waits(device).then(|| "what waited for another stream before it could be used again waited as long".to_owned()),
    ];
    possible.into_iter().flatten().collect()
}

/// Memory was freed while another stream still used it.
fn waits(device: &Device) -> bool {
    let actions: Vec<Action> = device.events.ids().map(|id| device.events.action(id)).collect();
    actions.windows(2).any(|pair| pair[0] == Action::FreeRequested && pair[1] != Action::FreeCompleted)
}
