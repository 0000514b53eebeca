//! Looking into what stayed plain dicts and lists: settings, and what oomph wrote.

use trace::NameId;

use super::keys::Texts;
use crate::pickle::handle::{Handle, Tag};
use crate::pickle::store::Store;

/// Containers and their texts. All answers are `None` where the file has something else there.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub store: &'a Store,
    pub texts: &'a Texts,
}

impl<'a> Values<'a> {
    /// The value of a key; the last one where it is there twice, as in Python.
    pub fn get(self, dict: Handle, key: &str) -> Option<Handle> {
        let found = self.pairs(dict).filter(|&(name, _)| self.texts.get(name) == Some(key)).last();
        found.map(|(_, value)| value).filter(|&value| value != Handle::NONE)
    }

    pub fn pairs(self, dict: Handle) -> impl Iterator<Item = (Handle, Handle)> + 'a {
        self.store.pairs(dict).into_iter().flatten()
    }

    pub fn list(self, list: Handle) -> &'a [Handle] {
        self.store.list(list).unwrap_or_default()
    }

    pub fn text(self, dict: Handle, key: &str) -> Option<String> {
        self.get(dict, key).and_then(|value| self.texts.get(value)).map(str::to_owned)
    }

    pub fn size(self, dict: Handle, key: &str) -> Option<u64> {
        self.get(dict, key).and_then(|value| self.store.size(value))
    }

    pub fn small(self, dict: Handle, key: &str) -> Option<u32> {
        self.size(dict, key).and_then(|number| u32::try_from(number).ok())
    }

    pub fn number(self, dict: Handle, key: &str) -> Option<f64> {
        self.get(dict, key).and_then(|value| self.store.number(value))
    }

    pub fn name(self, text: Handle) -> NameId {
        text.place_of(Tag::Text).map_or(NameId::EMPTY, NameId)
    }

    pub fn is_dict(self, handle: Handle) -> bool {
        self.store.pairs(handle).is_some()
    }
}
