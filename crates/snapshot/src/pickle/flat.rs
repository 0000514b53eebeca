//! Flat dicts in one go.
//!
//! Events, blocks and frames are dicts of numbers, texts and a list of known frames. Read opcode by opcode, each would
//! make a container, fill it and give it back; here its pairs are gathered in place. Whatever is not as expected is left
//! to the machine, which then begins again with the dict: nothing has happened but new entries of the memo, and they go.

use super::Meaning;
use super::handle::Handle;
use super::opcode as op;
use super::runs::Runs;
use super::store::Store;

/// Pairs that a flat dict may have; an event of torch 2.15 has ten.
const MOST_PAIRS: usize = 16;

/// A place in the window, and what reading moves forward.
pub struct Flat<'a, M> {
    pub bytes: &'a [u8],
    pub at: usize,
    pub memo: &'a mut Vec<Handle>,
    pub runs: &'a mut Runs,
    pub meaning: &'a mut M,
}

impl<M: Meaning> Flat<'_, M> {
    /// The meaning of the dict whose EMPTY_DICT was just read; `None` leaves it to the machine.
    pub fn dict(&mut self, store: &Store) -> Option<Handle> {
        let before = self.memo.len();
        let meaning = self.read(store);
        if meaning.is_none() {
            self.memo.truncate(before);
        }
        meaning
    }

    fn read(&mut self, store: &Store) -> Option<Handle> {
        let place = self.put(Handle::MISSING);
        if self.byte()? != op::MARK {
            return None;
        }
        let mut pairs = [Handle::NONE; 2 * MOST_PAIRS];
        let mut count = 0;
        while let Some(key) = self.key()? {
            let value = self.value()?;
            *pairs.get_mut(count)? = key;
            pairs[count + 1] = value;
            count += 2;
        }
        if !op::ends_dict(*self.bytes.get(self.at)?) {
            return None;
        }
        let meaning = self.meaning.dict(&pairs[..count], store)?;
        if let Some(place) = place {
            self.memo[place] = meaning;
        }
        Some(meaning)
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.bytes.get(self.at..)?.first_chunk()?;
        self.at += N;
        Some(array)
    }

    /// Keeps a value in the memo where the pickle does so next, in the next free place; returns that place.
    #[inline]
    fn put(&mut self, value: Handle) -> Option<usize> {
        let next = self.memo.len();
        let length = match *self.bytes.get(self.at..)? {
            [op::MEMOIZE, ..] => 1,
            [op::BINPUT, index, ..] if usize::from(index) == next => 2,
            [op::LONG_BINPUT, a, b, c, d, ..] if u32::from_le_bytes([a, b, c, d]) as usize == next => 5,
            _ => return None,
        };
        self.at += length;
        self.memo.push(value);
        Some(next)
    }

    /// The next key, or `Some(None)` where the dict ends.
    #[inline]
    fn key(&mut self) -> Option<Option<Handle>> {
        match self.byte()? {
            op::SETITEMS => Some(None),
            op::BINGET => self.short_get().map(Some),
            op::LONG_BINGET => self.long_get().map(Some),
            op::SHORT_BINUNICODE => self.text().map(Some),
            _ => None,
        }
    }

    #[inline]
    fn value(&mut self) -> Option<Handle> {
        Some(match self.byte()? {
            op::LONG1 => self.long()?,
            op::BININT1 => self.small()?,
            op::BININT2 => Handle::small(u16::from_le_bytes(self.array()?).into()),
            op::BININT => Handle::small(i32::from_le_bytes(self.array()?)),
            op::BINGET => self.short_get()?,
            op::LONG_BINGET => self.long_get()?,
            op::EMPTY_LIST => self.list()?,
            op::SHORT_BINUNICODE => self.text()?,
            op::NONE => Handle::NONE,
            op::NEWTRUE => Handle::TRUE,
            op::NEWFALSE => Handle::FALSE,
            _ => return None,
        })
    }

    #[inline]
    fn short_get(&mut self) -> Option<Handle> {
        let index = self.byte()?;
        self.memo.get(usize::from(index)).copied().filter(|handle| handle.is_settled())
    }

    #[inline]
    fn long_get(&mut self) -> Option<Handle> {
        let index = u32::from_le_bytes(self.array()?);
        self.memo.get(index as usize).copied().filter(|handle| handle.is_settled())
    }

    #[inline]
    fn long(&mut self) -> Option<Handle> {
        let length = self.byte()?;
        let bytes = self.bytes.get(self.at..)?.first_chunk()?;
        self.at += usize::from(length);
        Handle::short_long(*bytes, length.into())
    }

    /// A small number, or a pair of them.
    #[inline]
    fn small(&mut self) -> Option<Handle> {
        let first = Handle::small(self.byte()?.into());
        let Some(&[op::BININT1, second, op::TUPLE2]) = self.bytes.get(self.at..)?.first_chunk() else {
            return Some(first);
        };
        self.at += 3;
        let pair = Handle::pair(first, Handle::small(second.into()))?;
        self.put(pair);
        Some(pair)
    }

    fn text(&mut self) -> Option<Handle> {
        let length = usize::from(self.byte()?);
        let text = self.bytes.get(self.at..self.at + length)?;
        let text = self.meaning.text(text).ok()?;
        self.at += length;
        self.put(text);
        Some(text)
    }

    /// A list of known values, or an empty one.
    fn list(&mut self) -> Option<Handle> {
        let place = self.put(Handle::MISSING);
        let meaning = match *self.bytes.get(self.at)? {
            op::MARK => {
                let (meaning, length) = self.runs.read(&self.bytes[self.at + 1..], self.memo, self.meaning)?;
                self.at += length + 1;
                meaning
            }
            _ => Handle::EMPTY,
        };
        if let Some(place) = place {
            self.memo[place] = meaning;
        }
        Some(meaning)
    }
}
