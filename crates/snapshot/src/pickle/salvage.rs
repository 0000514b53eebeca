//! What can be saved of a pickle that ends too early.

use std::io::Read;

use super::Meaning;
use super::handle::{Handle, Tag};
use super::machine::Machine;
use super::store::{Kind, State};

impl<R: Read, M: Meaning> Machine<R, M> {
    /// Closes what is open, innermost first, as if the missing rest had nothing in it; `None` where nothing is there.
    pub fn salvage(&mut self) -> Option<Handle> {
        while let Some(mark) = self.marks.pop() {
            if mark > self.stack.len() || mark == 0 {
                continue;
            }
            self.close(mark);
        }
        if self.stack.len() > 1 {
            self.close(1);
        }
        let root = *self.stack.first()?;
        Some(self.settle(root))
    }

    /// Gives the items from `from` on to the container below them.
    fn close(&mut self, from: usize) {
        let target = self.stack[from - 1];
        if !self.is_growing(target) {
            return self.stack.truncate(from);
        }
        let kind = self.store.container(target).kind;
        if kind == Kind::Dict {
            self.even_out(from);
        }
        // Evened out, so it can only fail for a container of the wrong kind, and then there is nothing to save.
        if self.move_items(target, from, kind).is_err() {
            self.stack.truncate(from);
        }
    }

    /// Leaves pairs only. A list with one item gets it without a MARK, so that list and item lie on the stack like a
    /// value and the next key: what is no key belongs into the list before it. A last key without a value goes.
    fn even_out(&mut self, from: usize) {
        let mut place = from;
        while place < self.stack.len() && is_key(self.stack[place]) {
            place += 2;
        }
        if place < self.stack.len() && place > from {
            self.close(place);
        }
        if (self.stack.len() - from) % 2 == 1 {
            self.stack.pop();
        }
    }

    fn is_growing(&self, handle: Handle) -> bool {
        handle.is(Tag::Container) && matches!(self.store.container(handle).state, State::Growing | State::Early(_))
    }
}

fn is_key(handle: Handle) -> bool {
    handle.is(Tag::Text) || handle.is(Tag::Int)
}
