//! Containers and other values that do not fit into a handle.
//!
//! A snapshot makes millions of dicts and lists, and nearly all of them mean something: once used they shrink to a
//! handle, and their room is used again. So the store stays as small as what is open at a time.

use super::handle::{Handle, Tag};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    List,
    /// Keys and values in turn.
    Dict,
    Tuple,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nobody used it yet: it may grow.
    Growing,
    /// A list that seems complete, and would mean this; it has no items of its own.
    Early(Handle),
    /// It has no other meaning, and stays.
    Kept,
    /// It means this.
    Means(Handle),
}

#[derive(Debug)]
pub struct Container {
    pub kind: Kind,
    pub state: State,
    /// Where the memo has it, if it does.
    pub memo: Option<u32>,
    /// More than one place on the stack or in the memo may have it.
    pub shared: bool,
    pub items: Vec<Handle>,
}

#[derive(Debug, Default)]
pub struct Store {
    containers: Vec<Container>,
    unused: Vec<u32>,
    wide: Vec<i128>,
    floats: Vec<f64>,
    items: u64,
}

impl Store {
    pub fn create(&mut self, kind: Kind) -> Handle {
        if let Some(place) = self.unused.pop() {
            let container = &mut self.containers[place as usize];
            (container.kind, container.state) = (kind, State::Growing);
            (container.memo, container.shared) = (None, false);
            return Handle::new(Tag::Container, place);
        }
        self.containers.push(Container { kind, state: State::Growing, memo: None, shared: false, items: Vec::new() });
        // The machine stops for memory long before there are 2^32 of them.
        Handle::new(Tag::Container, (self.containers.len() - 1) as u32)
    }

    /// `handle` must be a container.
    #[inline]
    pub fn container(&self, handle: Handle) -> &Container {
        &self.containers[handle.place() as usize]
    }

    #[inline]
    pub fn container_mut(&mut self, handle: Handle) -> &mut Container {
        &mut self.containers[handle.place() as usize]
    }

    /// Whether this is a container of that kind which got nothing yet.
    #[inline]
    pub fn is_new(&self, handle: Handle, kind: Kind) -> bool {
        if !handle.is(Tag::Container) {
            return false;
        }
        let container = self.container(handle);
        container.kind == kind && container.state == State::Growing && container.items.is_empty()
    }

    pub fn extend(&mut self, handle: Handle, items: &[Handle]) {
        self.items += items.len() as u64;
        self.container_mut(handle).items.extend_from_slice(items);
    }

    /// Gives the room of a container back. Nobody may have its handle any more.
    pub fn recycle(&mut self, handle: Handle) {
        // Room for a stack of frames or an event is kept; room for a trace of a million events is not.
        const KEPT_CAPACITY: usize = 4096;
        let items = &mut self.containers[handle.place() as usize].items;
        self.items -= items.len() as u64;
        if items.capacity() > KEPT_CAPACITY {
            *items = Vec::new();
        }
        items.clear();
        self.unused.push(handle.place());
    }

    /// The container means this now; others still have its handle.
    pub fn retire(&mut self, handle: Handle, meaning: Handle) {
        let container = &mut self.containers[handle.place() as usize];
        container.state = State::Means(meaning);
        self.items -= std::mem::take(&mut container.items).len() as u64;
    }

    pub fn wide(&mut self, number: i128) -> Handle {
        self.wide.push(number);
        Handle::new(Tag::Wide, (self.wide.len() - 1) as u32)
    }

    pub fn float(&mut self, number: f64) -> Handle {
        self.floats.push(number);
        Handle::new(Tag::Float, (self.floats.len() - 1) as u32)
    }

    /// The items of a list or tuple, or of a dict in pairs; a used list without any has none.
    pub fn items(&self, handle: Handle) -> Option<(Kind, &[Handle])> {
        if handle == Handle::EMPTY {
            return Some((Kind::List, &[]));
        }
        if !handle.is(Tag::Container) {
            return None;
        }
        let container = self.container(handle);
        Some((container.kind, &container.items))
    }

    pub fn list(&self, handle: Handle) -> Option<&[Handle]> {
        self.items(handle).and_then(|(kind, items)| (kind != Kind::Dict).then_some(items))
    }

    pub fn pairs(&self, handle: Handle) -> Option<impl Iterator<Item = (Handle, Handle)> + '_> {
        let (kind, items) = self.items(handle)?;
        (kind == Kind::Dict).then(|| items.chunks_exact(2).map(|pair| (pair[0], pair[1])))
    }

    pub fn integer(&self, handle: Handle) -> Option<i128> {
        match handle.as_int() {
            Some(number) => Some(number.into()),
            None => handle.place_of(Tag::Wide).map(|place| self.wide[place as usize]),
        }
    }

    /// A size, an address or a time. PyTorch writes addresses above 2^63 as negative numbers in its C++ pickles.
    #[inline]
    pub fn unsigned(&self, handle: Handle) -> Option<u64> {
        match handle.as_int() {
            Some(number) => Some(number as u64),
            None => {
                self.integer(handle).and_then(|wide| u64::try_from(wide).or(i64::try_from(wide).map(|n| n as u64)).ok())
            }
        }
    }

    /// A number that cannot be negative.
    #[inline]
    pub fn size(&self, handle: Handle) -> Option<u64> {
        match handle.as_int() {
            Some(number) => u64::try_from(number).ok(),
            None => self.integer(handle).and_then(|wide| u64::try_from(wide).ok()),
        }
    }

    pub fn number(&self, handle: Handle) -> Option<f64> {
        match handle.place_of(Tag::Float) {
            Some(place) => Some(self.floats[place as usize]),
            None => self.integer(handle).map(|number| number as f64),
        }
    }

    /// How many items all containers have together.
    pub fn item_count(&self) -> u64 {
        self.items
    }

    /// About how much memory all this takes.
    pub fn held_bytes(&self) -> u64 {
        let containers = self.containers.len() * size_of::<Container>() + self.unused.len() * size_of::<u32>();
        let numbers = self.wide.len() * size_of::<i128>() + self.floats.len() * size_of::<f64>();
        (containers + numbers) as u64 + self.items * size_of::<Handle>() as u64
    }
}
