//! Containers: how they are filled, and when they become what they mean.

use std::io::Read;

use super::handle::{Handle, Tag};
use super::machine::{Machine, malformed};
use super::opcode as op;
use super::store::{Kind, State};
use super::{Meaning, Stop};

impl<R: Read, M: Meaning> Machine<R, M> {
    pub(super) fn tuple(&mut self, count: usize) -> Result<(), Stop> {
        let from = self.stack.len().checked_sub(count).ok_or_else(|| malformed("a tuple's item is missing"))?;
        self.settle_from(from);
        let handle = match self.stack[from..] {
            [first, second] if let Some(pair) = Handle::pair(first, second) => pair,
            _ => {
                let tuple = self.store.create(Kind::Tuple);
                self.store.extend(tuple, &self.stack[from..]);
                self.store.container_mut(tuple).state = State::Kept;
                tuple
            }
        };
        self.stack.truncate(from);
        self.stack.push(handle);
        Ok(())
    }

    /// LIST and DICT make their container at once.
    pub(super) fn collect(&mut self, kind: Kind) -> Result<(), Stop> {
        let from = self.mark()?;
        let container = self.store.create(kind);
        self.move_items(container, from, kind)?;
        self.stack.push(container);
        Ok(())
    }

    pub(super) fn append_all(&mut self) -> Result<(), Stop> {
        let from = self.mark()?;
        let target = self.below(from)?;
        self.move_items(target, from, Kind::List)
    }

    pub(super) fn append(&mut self) -> Result<(), Stop> {
        let from = self.stack.len().checked_sub(1).ok_or_else(|| malformed("an item is missing"))?;
        let target = self.below(from)?;
        self.move_items(target, from, Kind::List)
    }

    pub(super) fn set_items(&mut self) -> Result<(), Stop> {
        let from = self.mark()?;
        let target = self.below(from)?;
        if self.store.is_new(target, Kind::Dict) && self.window.rest().first().is_some_and(|&next| op::ends_dict(next))
        {
            return self.whole_dict(target, from);
        }
        self.move_items(target, from, Kind::Dict)
    }

    /// A dict that gets all its items at once need not be stored to be understood.
    fn whole_dict(&mut self, target: Handle, from: usize) -> Result<(), Stop> {
        self.settle_from(from);
        let pairs = &self.stack[from..];
        if pairs.len() % 2 == 1 {
            return Err(malformed("a key without a value"));
        }
        match self.meaning.dict(pairs, &self.store) {
            Some(meaning) => {
                self.replace(target, meaning);
                self.stack[from - 1] = meaning;
            }
            None => {
                self.store.extend(target, pairs);
                self.store.container_mut(target).state = State::Kept;
            }
        }
        self.stack.truncate(from);
        Ok(())
    }

    pub(super) fn set_item(&mut self) -> Result<(), Stop> {
        let from = self.stack.len().checked_sub(2).ok_or_else(|| malformed("a key is missing"))?;
        let target = self.below(from)?;
        self.move_items(target, from, Kind::Dict)
    }

    fn below(&self, from: usize) -> Result<Handle, Stop> {
        let place = from.checked_sub(1).ok_or_else(|| malformed("items without a container"))?;
        Ok(self.stack[place])
    }

    /// Moves the stack's items from `from` on into a list or dict.
    pub(super) fn move_items(&mut self, target: Handle, from: usize, kind: Kind) -> Result<(), Stop> {
        self.settle_from(from);
        if kind == Kind::Dict && (self.stack.len() - from) % 2 == 1 {
            return Err(malformed("a key without a value"));
        }
        if !target.is(Tag::Container) {
            self.late_changes += 1;
        } else {
            let container = self.store.container(target);
            if container.kind != kind {
                return Err(malformed("items of a dict for a list, or the other way round"));
            }
            match container.state {
                State::Means(_) => self.late_changes += 1,
                State::Early(meaning) => {
                    self.unfold(target, meaning);
                    self.store.extend(target, &self.stack[from..]);
                }
                State::Growing | State::Kept => self.store.extend(target, &self.stack[from..]),
            }
        }
        self.stack.truncate(from);
        Ok(())
    }

    #[inline]
    fn settle_from(&mut self, from: usize) {
        let open = self.stack[from..].iter().fold(false, |open, handle| open | handle.is(Tag::Container));
        if !open {
            return;
        }
        for place in from..self.stack.len() {
            self.stack[place] = self.settle(self.stack[place]);
        }
    }

    /// A value is about to be used, so it is complete: what does it mean?
    #[inline]
    pub(super) fn settle(&mut self, handle: Handle) -> Handle {
        if !handle.is(Tag::Container) {
            return handle;
        }
        let container = self.store.container_mut(handle);
        match container.state {
            State::Kept => handle,
            State::Means(meaning) => meaning,
            State::Early(meaning) => {
                self.replace(handle, meaning);
                meaning
            }
            State::Growing => self.interpret(handle),
        }
    }

    fn interpret(&mut self, handle: Handle) -> Handle {
        let container = self.store.container_mut(handle);
        let items = std::mem::take(&mut container.items);
        let meaning = match container.kind {
            Kind::List if items.is_empty() => Some(Handle::EMPTY),
            Kind::List => self.meaning.list(&items),
            Kind::Dict => self.meaning.dict(&items, &self.store),
            Kind::Tuple => None,
        };
        let container = self.store.container_mut(handle);
        container.items = items;
        match meaning {
            Some(meaning) => {
                self.replace(handle, meaning);
                meaning
            }
            None => {
                container.state = State::Kept;
                handle
            }
        }
    }

    /// From now on the memo has the meaning instead of the container.
    fn replace(&mut self, handle: Handle, meaning: Handle) {
        let container = self.store.container(handle);
        if let Some(entry) = container.memo.and_then(|place| self.memo.get_mut(place as usize))
            && *entry == handle
        {
            *entry = meaning;
        }
        match container.shared {
            true => self.store.retire(handle, meaning),
            false => self.store.recycle(handle),
        }
    }

    /// A list that was thought to be complete goes on.
    #[cold]
    fn unfold(&mut self, list: Handle, meaning: Handle) {
        let items = self.meaning.items(meaning);
        self.store.extend(list, &items);
        self.store.container_mut(list).state = State::Growing;
    }
}
