//! What the Python side of oomph wrote under the key `oomph`, and what a profile says about its events.

use trace::{
    Action, Category, Device, Events, Mark, Marks, NameId, OomMark, Phase, Recording, Scope, Span, Stats, StepMark,
};

use super::document::MOST_DEVICES;
use super::values::Values;
use crate::pickle::handle::Handle;

/// PyTorch's profiler has other words for some. (`torch/profiler/_memory_profiler.py`, `Category`)
pub fn category(text: &str) -> Option<Category> {
    let word = match text {
        "optimizer_state" => "optimizer-state",
        "autograd_detail" => "temporary",
        other => other,
    };
    Category::from_word(word).filter(|&category| category != Category::Unknown)
}

/// Fills in what oomph knew beside PyTorch's snapshot. `device` finds or makes a device.
pub fn read(
    values: Values,
    oomph: Handle,
    recording: &mut Recording,
    mut device: impl FnMut(&mut Recording, u32) -> usize,
) {
    recording.torch = values.text(oomph, "torch");
    recording.cuda = values.text(oomph, "cuda");
    if let Some(gpu) = values.get(oomph, "gpu") {
        recording.gpu = values.text(gpu, "name").or_else(|| values.text(gpu, "id"));
        recording.gpu_bytes = values.size(gpu, "memory_bytes");
    }
    recording.oom = values.get(oomph, "oom").filter(|&oom| values.is_dict(oom)).map(|oom| oom_mark(values, oom));
    for (index, stats) in by_device(values, values.get(oomph, "memory_stats")) {
        // A process counts for every device of the machine; those that it never used say nothing.
        let stats = self::stats(values, stats).filter(|stats| *stats != Stats::default());
        if let Some(stats) = stats {
            let at = device(recording, index);
            recording.devices[at].stats = Some(stats);
        }
    }
    match values.get(oomph, "marks") {
        Some(marks) => counted(values, marks, recording, device),
        None => recording.devices.iter_mut().for_each(|device| device.marks = timed(values, oomph, device)),
    }
}

/// Schema 2: marks that count allocations.
fn counted(
    values: Values,
    marks: Handle,
    recording: &mut Recording,
    mut device: impl FnMut(&mut Recording, u32) -> usize,
) {
    let names = values.get(marks, "names").map(|names| values.list(names)).unwrap_or_default();
    let mut budget = Budget(values.store.item_count());
    for (index, dict) in by_device(values, values.get(marks, "devices")) {
        let table = Table { values, names, dict };
        let marks = Marks {
            allocations: values.size(dict, "allocations").unwrap_or(0),
            tensors: table.rows("tensors", &mut budget, tensor),
            scopes: table.rows("scopes", &mut budget, scope),
            phases: table.rows("phases", &mut budget, span),
            steps: table.rows("steps", &mut budget, step),
        };
        let at = device(recording, index);
        recording.devices[at].marks = Some(marks);
    }
}

/// Rows still to be read. Each row of the file is meant once; a list that every device names must not multiply.
struct Budget(u64);

#[derive(Clone, Copy)]
struct Table<'a> {
    values: Values<'a>,
    names: &'a [Handle],
    dict: Handle,
}

impl<'a> Table<'a> {
    fn rows<T>(self, key: &str, budget: &mut Budget, row: impl Fn(Self, &[Handle]) -> Option<T>) -> Vec<T> {
        let list = self.values.get(self.dict, key).map(|list| self.values.list(list)).unwrap_or_default();
        let Some(left) = budget.0.checked_sub(list.len() as u64) else { return Vec::new() };
        budget.0 = left;
        list.iter().filter_map(|&item| self.row(item, &row)).collect()
    }

    fn row<T>(self, item: Handle, row: &impl Fn(Self, &[Handle]) -> Option<T>) -> Option<T> {
        match item.as_pair() {
            Some((first, second)) => row(self, &[Handle::int(first as i64)?, Handle::int(second as i64)?]),
            None => row(self, self.values.list(item)),
        }
    }

    fn size(self, handle: Handle) -> Option<u64> {
        self.values.store.size(handle)
    }

    /// A name, given by its place in the list of names.
    fn name(self, index: Handle) -> NameId {
        let place = self.size(index).and_then(|index| usize::try_from(index).ok());
        place.and_then(|place| self.names.get(place)).map_or(NameId::EMPTY, |&name| self.values.name(name))
    }
}

fn tensor(table: Table, row: &[Handle]) -> Option<Mark> {
    let &[ordinal, address, kind, name, ..] = row else { return None };
    Some(Mark {
        ordinal: table.size(ordinal)?,
        address: table.values.store.unsigned(address)?,
        category: category(table.values.texts.get(kind)?)?,
        name: table.name(name),
    })
}

fn scope(table: Table, row: &[Handle]) -> Option<Scope> {
    let &[first, last, module, class, ..] = row else { return None };
    Some(Scope {
        first: table.size(first)?,
        last: table.size(last)?,
        module: table.name(module),
        class: table.name(class),
    })
}

fn span(table: Table, row: &[Handle]) -> Option<Span> {
    let &[first, last, name, step, ..] = row else { return None };
    Some(Span {
        first: table.size(first)?,
        last: table.size(last)?,
        phase: Phase::from_word(table.values.texts.get(name)?)?,
        step: table.size(step).and_then(|step| u32::try_from(step).ok()).unwrap_or(0),
    })
}

fn step(table: Table, row: &[Handle]) -> Option<StepMark> {
    let &[step, ordinal, ..] = row else { return None };
    Some(StepMark { step: u32::try_from(table.size(step)?).ok()?, ordinal: table.size(ordinal)? })
}

/// Schema 1: phases and steps by the clock, turned into counts of allocations.
fn timed(values: Values, oomph: Handle, device: &Device) -> Option<Marks> {
    let times = alloc_times(&device.events)?;
    let before = |time: u64| times.partition_point(|&at| at <= time) as u64;
    let rows = |key: &str| values.get(oomph, key).map(|list| values.list(list)).unwrap_or_default();
    let steps = rows("steps").iter().filter_map(|&row| {
        Some(StepMark { step: values.small(row, "step")?, ordinal: before(values.size(row, "time_us")?) })
    });
    let phases = rows("phases").iter().filter_map(|&row| {
        Some(Span {
            first: before(values.size(row, "start_us")?),
            last: before(values.size(row, "end_us")?),
            phase: Phase::from_word(&values.text(row, "phase")?)?,
            step: values.small(row, "step").unwrap_or(0),
        })
    });
    let marks =
        Marks { allocations: times.len() as u64, steps: steps.collect(), phases: phases.collect(), ..Marks::default() };
    (!marks.steps.is_empty() || !marks.phases.is_empty()).then_some(marks)
}

/// When each allocation was made; `None` where the clock was not recorded.
fn alloc_times(events: &Events) -> Option<Vec<u64>> {
    let allocs = events.ids().filter(|&id| events.action(id) == Action::Alloc);
    allocs.map(|id| events.time_us(id)).collect()
}

/// A profile's categories, which are those of single events, as marks. `rows` are rows of `events`, rising.
pub fn from_categories(events: &Events, rows: &[(u32, Category)]) -> Option<Marks> {
    if rows.is_empty() {
        return None;
    }
    let mut marks = Marks::default();
    let mut rows = rows.iter().peekable();
    for (id, event) in events.iter() {
        let category = rows.next_if(|(row, _)| *row == id.0).map(|&(_, category)| category);
        if event.action != Action::Alloc {
            continue;
        }
        marks.allocations += 1;
        let ordinal = marks.allocations;
        marks.tensors.extend(category.map(|category| Mark {
            ordinal,
            address: event.address,
            category,
            name: NameId::EMPTY,
        }));
    }
    (!marks.tensors.is_empty()).then_some(marks)
}

fn by_device(values: Values, dict: Option<Handle>) -> Vec<(u32, Handle)> {
    let Some(dict) = dict else { return Vec::new() };
    let number = |key: Handle| values.store.size(key).and_then(|device| u32::try_from(device).ok());
    let devices = values.pairs(dict).filter_map(|(key, value)| Some((number(key)?, value)));
    devices.filter(|(device, _)| *device < MOST_DEVICES).take(MOST_DEVICES as usize).collect()
}

/// `memory_stats` of a device, nested or with dotted keys.
fn stats(values: Values, dict: Handle) -> Option<Stats> {
    let count = |key: &str| values.size(dict, key);
    let bytes = |kind: &str, which: &str| {
        let nested = || values.size(values.get(values.get(dict, kind)?, "all")?, which);
        nested().or_else(|| count(&format!("{kind}.all.{which}")))
    };
    Some(Stats {
        allocated_bytes: bytes("allocated_bytes", "current")?,
        reserved_bytes: bytes("reserved_bytes", "current")?,
        peak_allocated_bytes: bytes("allocated_bytes", "peak")?,
        peak_reserved_bytes: bytes("reserved_bytes", "peak")?,
        retries: count("num_alloc_retries").unwrap_or(0),
        ooms: count("num_ooms").unwrap_or(0),
    })
}

fn oom_mark(values: Values, oom: Handle) -> OomMark {
    let location = values.get(oom, "location").unwrap_or(Handle::NONE);
    OomMark {
        device: values.small(oom, "device"),
        requested_bytes: values.size(oom, "requested_bytes"),
        message: values.text(oom, "message"),
        step: values.small(oom, "step"),
        phase: values.text(oom, "phase").and_then(|text| Phase::from_word(&text)),
        file: values.text(location, "file"),
        line: values.small(location, "line"),
        code: values.text(location, "code"),
    }
}
