//! The whole file: its top level, turned into a recording.

use std::collections::BTreeSet;

use trace::{Annotation, Category, Device, EventId, Events, NameId, Recording, Segment, Warning};

use super::values::Values;
use super::{Shapes, marks, settings, stream_id};
use crate::pickle::handle::{Handle, Tag};
use crate::pickle::store::Store;

/// No machine has more cards. A hostile file may say so, and devices are found by looking at each.
pub const MOST_DEVICES: u32 = 1024;

/// What a pickle turned out to be.
pub enum Document {
    Snapshot(Box<Recording>),
    /// Something else, in words.
    Other(String),
}

/// The parts of the top level, by handle; `NONE` where the file has none.
#[derive(Default)]
struct Top {
    segments: Option<Handle>,
    traces: Option<Handle>,
    settings: Option<Handle>,
    annotations: Option<Handle>,
    host_segments: Option<Handle>,
    host_traces: Option<Handle>,
    oomph: Option<Handle>,
    unknown: Vec<String>,
}

pub fn finish(shapes: Shapes, store: &Store, root: Handle) -> Document {
    let values = Values { store, texts: &shapes.texts };
    let top = match top(values, root) {
        Ok(top) => top,
        Err(other) => return Document::Other(other),
    };
    let mut builder = Builder { recording: Recording::default(), used: BTreeSet::new() };
    builder.warn_of_oddities(&shapes);
    builder.warn_of_top(&top, store);
    builder.fill(shapes, store, &top);
    Document::Snapshot(Box::new(builder.recording))
}

fn top(values: Values, root: Handle) -> Result<Top, String> {
    if values.is_dict(root) {
        return keys(values, root);
    }
    // `torch.cuda.memory_snapshot()` alone gives a list of segments.
    let is_segments = values.list(root).first().is_some_and(|item| item.is(Tag::Segment));
    if is_segments {
        return Ok(Top { segments: Some(root), ..Top::default() });
    }
    Err(in_words(values, root))
}

fn keys(values: Values, root: Handle) -> Result<Top, String> {
    let mut top = Top::default();
    for (key, value) in values.pairs(root) {
        match values.texts.get(key) {
            Some("segments") => top.segments = Some(value),
            Some("device_traces") => top.traces = Some(value),
            Some("allocator_settings") => top.settings = Some(value),
            Some("external_annotations") => top.annotations = Some(value),
            Some("host_segments") => top.host_segments = Some(value),
            Some("host_traces") => top.host_traces = Some(value),
            Some("oomph") => top.oomph = Some(value),
            // Profiles keep the list of their categories' names.
            Some("categories") => {}
            Some(other) => top.unknown.push(other.to_owned()),
            None => top.unknown.push("a key that is no text".to_owned()),
        }
    }
    match top.segments.is_some() || top.traces.is_some() {
        true => Ok(top),
        false => Err(in_words(values, root)),
    }
}

/// What a value is, for whoever expected a snapshot.
fn in_words(values: Values, root: Handle) -> String {
    if values.is_dict(root) {
        let keys: Vec<&str> = values.pairs(root).filter_map(|(key, _)| values.texts.get(key)).take(5).collect();
        return match keys[..] {
            [] => "a pickled dict without keys".to_owned(),
            _ => format!("a pickled dict with the keys {}", keys.join(", ")),
        };
    }
    match values.store.list(root) {
        Some([]) => "an empty pickled list".to_owned(),
        Some(items) => format!("a pickled list of {} things that are no segments", items.len()),
        None if root.is(Tag::Event) => "a single pickled event".to_owned(),
        None => "a single pickled value".to_owned(),
    }
}

struct Builder {
    recording: Recording,
    /// Traces that a device has already.
    used: BTreeSet<u32>,
}

impl Builder {
    fn warn(&mut self, code: &'static str, text: String) {
        self.recording.warnings.push(Warning { code, text });
    }

    fn warn_of_oddities(&mut self, shapes: &Shapes) {
        let odd = &shapes.oddities;
        let names = |names: &std::collections::BTreeMap<NameId, u64>| {
            let names: Vec<&str> = names.keys().take(5).map(|&name| shapes.texts.names.get(name)).collect();
            names.join(", ")
        };
        if !odd.actions.is_empty() {
            let count: u64 = odd.actions.values().sum();
            self.warn(
                "unknown-actions",
                format!("{count} events of unknown kinds were skipped: {}", names(&odd.actions)),
            );
        }
        if !odd.keys.is_empty() {
            self.warn("unknown-keys", format!("unknown keys were skipped: {}", names(&odd.keys)));
        }
        if odd.incomplete > 0 {
            self.warn("incomplete-events", format!("{} events without address or size were skipped", odd.incomplete));
        }
        if odd.stacks > 0 {
            self.warn("unreadable-stacks", format!("{} stacks could not be read", odd.stacks));
        }
    }

    fn warn_of_top(&mut self, top: &Top, store: &Store) {
        if !top.unknown.is_empty() {
            let keys = top.unknown[..top.unknown.len().min(5)].join(", ");
            self.warn("unknown-keys", format!("unknown keys at the top were skipped: {keys}"));
        }
        let count = |list: Option<Handle>| list.and_then(|list| store.list(list)).map_or(0, <[Handle]>::len);
        let traces = top.host_traces.and_then(|list| store.list(list)).unwrap_or_default();
        let events: usize = traces.iter().map(|&trace| count(Some(trace)).max(1)).sum();
        let segments = count(top.host_segments);
        if segments + events > 0 {
            let text = format!("pinned host memory is not read: {segments} segments, {events} events");
            self.warn("host-memory", text);
        }
    }

    fn fill(&mut self, mut shapes: Shapes, store: &Store, top: &Top) {
        self.events(&mut shapes, store, top);
        self.segments(&mut shapes, store, top);
        let values = Values { store, texts: &shapes.texts };
        if let Some(dict) = top.settings {
            self.recording.settings = settings::settings(values, dict);
        }
        let annotations = top.annotations.map(|list| values.list(list)).unwrap_or_default();
        self.recording.annotations = annotations.iter().filter_map(|&item| annotation(&shapes, item)).collect();
        if let Some(oomph) = top.oomph {
            marks::read(values, oomph, &mut self.recording, device);
        }
        self.recording.devices.sort_by_key(|device| device.index);
        self.recording.names = shapes.texts.names;
        self.recording.frames = shapes.frames;
        self.recording.stacks = shapes.stacks.stacks;
    }

    fn events(&mut self, shapes: &mut Shapes, store: &Store, top: &Top) {
        let traces = top.traces.map(|list| store.list(list).unwrap_or_default()).unwrap_or_default();
        let alone =
            traces.iter().filter(|&&trace| store.list(trace).is_some_and(|items| !items.is_empty())).count() == 1;
        // Each event is of one device. A file that has them in several traces must not grow by that.
        let mut left = shapes.events.len();
        for (index, &trace) in (0..MOST_DEVICES).zip(traces) {
            let items = store.list(trace).unwrap_or_default();
            if items.is_empty() {
                continue;
            }
            if !self.used.insert(trace.place()) {
                self.warn("repeated-trace", format!("device {index} repeats the events of another and was skipped"));
                continue;
            }
            let (events, categories) = match alone {
                true => all_rows(shapes, items).unwrap_or_else(|| rows(shapes, items, left)),
                false => rows(shapes, items, left),
            };
            left = left.saturating_sub(events.len());
            let marks = marks::from_categories(&events, &categories);
            let at = device(&mut self.recording, index);
            (self.recording.devices[at].events, self.recording.devices[at].marks) = (events, marks);
        }
    }

    fn segments(&mut self, shapes: &mut Shapes, store: &Store, top: &Top) {
        let list = top.segments.and_then(|list| store.list(list)).unwrap_or_default();
        for place in list.iter().filter_map(|item| item.place_of(Tag::Segment)) {
            // Taken out, so that a list that has it twice does not double its bytes.
            let Some(raw) = shapes.segments[place as usize].take() else { continue };
            if raw.device >= MOST_DEVICES {
                continue;
            }
            let at = device(&mut self.recording, raw.device);
            let device = &mut self.recording.devices[at];
            let stream = stream_id(&mut device.events, raw.stream);
            device.segments.push(Segment { stream, ..raw.segment });
        }
    }
}

fn annotation(shapes: &Shapes, item: Handle) -> Option<Annotation> {
    item.place_of(Tag::Annotation).map(|place| shapes.annotations[place as usize])
}

/// Where the recording has a device, made if it is new.
fn device(recording: &mut Recording, index: u32) -> usize {
    let found = recording.devices.iter().position(|device| device.index == index);
    found.unwrap_or_else(|| {
        recording.devices.push(Device { index, ..Device::default() });
        recording.devices.len() - 1
    })
}

/// The events of the only trace, if they are all there are, in their order: then they need not be copied.
fn all_rows(shapes: &mut Shapes, items: &[Handle]) -> Option<(Events, Vec<(u32, Category)>)> {
    let in_order = items.iter().zip(0..).all(|(item, row)| item.place_of(Tag::Event) == Some(row));
    let all = in_order && items.len() == shapes.events.len();
    all.then(|| (std::mem::take(&mut shapes.events), std::mem::take(&mut shapes.categories)))
}

/// The events of one trace, and no more than `most`.
fn rows(shapes: &Shapes, items: &[Handle], most: usize) -> (Events, Vec<(u32, Category)>) {
    let mut events = Events::default();
    let mut categories = Vec::new();
    for row in items.iter().filter_map(|item| item.place_of(Tag::Event)).take(most) {
        let mut event = shapes.events.get(EventId(row));
        event.stream = stream_id(&mut events, shapes.events.stream_handle(event.stream));
        let id = events.push(event);
        let category = shapes.categories.binary_search_by_key(&row, |&(row, _)| row);
        categories.extend(category.ok().map(|at| (id.0, shapes.categories[at].1)));
    }
    (events, categories)
}
