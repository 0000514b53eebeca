//! Interned strings: each distinct text is kept once.

use rustc_hash::FxHashMap;

use crate::NameId;

/// The strings of one recording, in one buffer.
#[derive(Debug, Clone)]
pub struct Names {
    text: String,
    ends: Vec<u32>,
    known: FxHashMap<Box<str>, NameId>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names { text: String::new(), ends: Vec::new(), known: FxHashMap::default() };
        names.intern("");
        names
    }
}

impl Names {
    pub fn intern(&mut self, text: &str) -> NameId {
        if let Some(&id) = self.known.get(text) {
            return id;
        }
        let id = NameId::from_index(self.ends.len());
        self.text.push_str(text);
        self.ends.push(u32::try_from(self.text.len()).expect("names take less than 4 GiB"));
        self.known.insert(text.into(), id);
        id
    }

    pub fn get(&self, id: NameId) -> &str {
        let start = id.index().checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[id.index()] as usize]
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }
}
