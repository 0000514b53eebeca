//! What the dicts and lists of a snapshot mean, told by their keys alone.
//!
//! A dict with an `action` is an event, wherever it stands; one with `name` and `filename` is a frame; a list of frames
//! is a stack. So the order of keys does not matter, and every generation of the format is read by the same code:
//! what a dict lacks is absent.

mod document;
mod keys;
mod marks;
mod segment;
mod settings;
mod stacks;
mod values;

use std::collections::BTreeMap;

use trace::{Action, Annotation, Block, Category, Event, Events, Frame, Frames, NameId, StackId, StreamId};

use crate::pickle::handle::{Handle, Tag};
use crate::pickle::store::Store;
use crate::pickle::{Meaning, Stop};
pub use document::{Document, finish};
use keys::{KEYS, Key, Texts};
use segment::{Past, RawSegment};
use stacks::StackTable;

/// The parts of a snapshot, as they are met.
pub struct Shapes {
    texts: Texts,
    frames: Frames,
    stacks: StackTable,
    /// Of all devices, in the order of the file.
    events: Events,
    /// What the profiler says an event's memory is for.
    categories: Vec<(u32, Category)>,
    segments: Vec<Option<RawSegment>>,
    blocks: Vec<Block>,
    pasts: Vec<Past>,
    annotations: Vec<Annotation>,
    /// The dict at hand, by key; only those in `Dict::present` count.
    slots: [Handle; KEYS],
    oddities: Oddities,
}

/// What was skipped, to be told at the end.
#[derive(Default)]
struct Oddities {
    keys: BTreeMap<NameId, u64>,
    actions: BTreeMap<NameId, u64>,
    /// Events without an address or a size.
    incomplete: u64,
    /// `frames` that are no list of frames.
    stacks: u64,
    /// Blocks that segments were looked through for; a hostile file may name one list in every segment.
    blocks_visited: u64,
}

impl Default for Shapes {
    fn default() -> Self {
        Shapes {
            texts: Texts::default(),
            frames: Frames::default(),
            stacks: StackTable::default(),
            events: Events::default(),
            categories: Vec::new(),
            segments: Vec::new(),
            blocks: Vec::new(),
            pasts: Vec::new(),
            annotations: Vec::new(),
            slots: [Handle::MISSING; KEYS],
            oddities: Oddities::default(),
        }
    }
}

impl Meaning for Shapes {
    fn text(&mut self, text: &[u8]) -> Result<Handle, Stop> {
        self.texts.intern(text).map(|id| Handle::new(Tag::Text, id.0))
    }

    fn spelled(&self, text: Handle) -> String {
        self.texts.get(text).unwrap_or_default().to_owned()
    }

    fn list(&mut self, items: &[Handle]) -> Option<Handle> {
        if !items[0].is(Tag::Frame) {
            return None;
        }
        self.stacks.intern(items).map(|id| Handle::new(Tag::Stack, id.0))
    }

    fn items(&self, meaning: Handle) -> Vec<Handle> {
        let frames = meaning.place_of(Tag::Stack).map(|place| self.stacks.stacks.get(StackId(place)));
        frames.unwrap_or_default().iter().map(|frame| Handle::new(Tag::Frame, frame.0)).collect()
    }

    fn dict(&mut self, pairs: &[Handle], store: &Store) -> Option<Handle> {
        let mut present = Present(0);
        for pair in pairs.chunks_exact(2) {
            let key = self.texts.key(pair[0]);
            self.slots[key as usize] = pair[1];
            present.add(key);
        }
        let meaning = if present.has(Key::Action) {
            self.event(present, store)
        } else if present.has(Key::Name) && present.has(Key::Filename) {
            Some(self.frame(present, store))
        } else if present.has(Key::Blocks) {
            self.segment(present, store)
        } else if present.has(Key::State) && present.has(Key::Size) {
            self.block(present, store)
        } else if present.has(Key::RealSize) {
            self.past(present, store)
        } else if present.has(Key::Stage) && present.has(Key::Name) {
            self.annotation(present, store)
        } else {
            return None;
        };
        if present.has(Key::Unknown) {
            self.note_unknown_keys(pairs);
        }
        meaning
    }

    fn held_bytes(&self) -> u64 {
        let rows = self.events.len() * 48 + self.frames.len() * 48 + self.blocks.len() * size_of::<Block>();
        let rest = self.segments.len() * size_of::<RawSegment>()
            + self.annotations.len() * size_of::<Annotation>()
            + self.pasts.len() * size_of::<Past>();
        (rows + rest) as u64 + self.stacks.held_bytes() + self.texts.held_bytes()
    }
}

/// Which keys the dict at hand has.
#[derive(Clone, Copy)]
struct Present(u64);

impl Present {
    #[inline]
    fn add(&mut self, key: Key) {
        self.0 |= 1 << key as u8;
    }

    #[inline]
    fn has(self, key: Key) -> bool {
        self.0 & 1 << key as u8 != 0
    }
}

impl Shapes {
    #[inline]
    fn get(&self, present: Present, key: Key) -> Option<Handle> {
        present.has(key).then(|| self.slots[key as usize])
    }

    fn size(&self, present: Present, key: Key, store: &Store) -> Option<u64> {
        self.get(present, key).and_then(|handle| store.size(handle))
    }

    fn address(&self, present: Present, key: Key, store: &Store) -> Option<u64> {
        self.get(present, key).and_then(|handle| store.unsigned(handle))
    }

    fn stack(&mut self, present: Present) -> StackId {
        match self.get(present, Key::Frames) {
            Some(handle) if handle.is(Tag::Stack) => StackId(handle.place()),
            None | Some(Handle::EMPTY | Handle::NONE) => StackId::EMPTY,
            Some(_) => {
                self.oddities.stacks += 1;
                StackId::EMPTY
            }
        }
    }

    fn event(&mut self, present: Present, store: &Store) -> Option<Handle> {
        let Some(action) = self.texts.action(self.slots[Key::Action as usize]) else {
            self.note_unknown_action();
            return Some(Handle::OPAQUE);
        };
        let address = match action {
            Action::Oom => self.size(present, Key::DeviceFree, store),
            _ => self.address(present, Key::Addr, store),
        };
        let size = self.size(present, Key::Size, store);
        let (Some(address), Some(size)) = (address.or(unneeded(action)), size.or(unneeded(action))) else {
            self.oddities.incomplete += 1;
            return Some(Handle::OPAQUE);
        };
        // Columns end before 2^32 rows.
        let row = u32::try_from(self.events.len()).ok().filter(|&row| row < u32::MAX)?;
        let stream = self.address(present, Key::Stream, store).unwrap_or(0);
        let event = Event {
            action,
            address,
            size,
            stream: stream_id(&mut self.events, stream),
            time_us: self.size(present, Key::TimeUs, store),
            stack: self.stack(present),
            note: self.note(present),
        };
        self.events.push(event);
        if let Some(category) = self.get(present, Key::Category).and_then(|handle| self.texts.get(handle)) {
            self.categories.extend(marks::category(category).map(|category| (row, category)));
        }
        Some(Handle::new(Tag::Event, row))
    }

    fn note(&self, present: Present) -> NameId {
        let note = self.get(present, Key::UserMetadata).and_then(|handle| handle.place_of(Tag::Text));
        note.map_or(NameId::EMPTY, NameId)
    }

    fn frame(&mut self, present: Present, store: &Store) -> Handle {
        let name = |handle: Handle| handle.place_of(Tag::Text).map_or(NameId::EMPTY, NameId);
        let frame = Frame {
            function: name(self.slots[Key::Name as usize]),
            file: name(self.slots[Key::Filename as usize]),
            line: self.size(present, Key::Line, store).and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
        };
        Handle::new(Tag::Frame, self.frames.intern(frame).0)
    }

    fn annotation(&mut self, present: Present, store: &Store) -> Option<Handle> {
        let annotation = Annotation {
            name: NameId(self.slots[Key::Name as usize].place_of(Tag::Text)?),
            starts: self.texts.get(self.slots[Key::Stage as usize])? == "START",
            device: self.size(present, Key::Device, store).and_then(|device| u32::try_from(device).ok()).unwrap_or(0),
            time_us: self.size(present, Key::TimeUs, store)?,
        };
        self.annotations.push(annotation);
        Some(Handle::new(Tag::Annotation, (self.annotations.len() - 1) as u32))
    }

    #[cold]
    fn note_unknown_keys(&mut self, pairs: &[Handle]) {
        // A file whose keys are data would fill the list.
        const MOST: usize = 100;
        for key in pairs.iter().step_by(2).filter(|&&key| self.texts.key(key) == Key::Unknown) {
            let name = NameId(key.place_of(Tag::Text).unwrap_or(0));
            if self.oddities.keys.len() < MOST || self.oddities.keys.contains_key(&name) {
                *self.oddities.keys.entry(name).or_default() += 1;
            }
        }
    }

    #[cold]
    fn note_unknown_action(&mut self) {
        const MOST: usize = 100;
        let name = NameId(self.slots[Key::Action as usize].place_of(Tag::Text).unwrap_or(0));
        if self.oddities.actions.len() < MOST || self.oddities.actions.contains_key(&name) {
            *self.oddities.actions.entry(name).or_default() += 1;
        }
    }
}

/// A stream's id. Ids are found by looking at each, which is right for the handful that a process has; a file with
/// thousands is none that PyTorch wrote, and its other streams count as the default one.
fn stream_id(events: &mut Events, handle: u64) -> StreamId {
    const MOST_STREAMS: usize = 1024;
    events.stream(if events.streams() < MOST_STREAMS { handle } else { 0 })
}

/// What an action may go without: a snapshot has no address, a note no size, an old oom no free bytes.
fn unneeded(action: Action) -> Option<u64> {
    matches!(action, Action::Snapshot | Action::Annotate | Action::Oom).then_some(0)
}
