//! Walks over a message whose white space is single spaces.

use trace::Approx;

use super::size;

#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes past these words if they are next, and says whether they were. A space before them is not part of anything.
    pub fn skip(&mut self, words: &str) -> bool {
        let rest = self.rest();
        let text = rest.strip_prefix(' ').unwrap_or(rest);
        let Some(after) = text.strip_prefix(words) else {
            return false;
        };
        self.at = self.text.len() - after.len();
        true
    }

    /// A size with its unit: `15.18 GiB`. The cursor stays where it is if there is none.
    pub fn size(&mut self) -> Option<Approx> {
        let (value, length) = size::leading(self.rest())?;
        self.at += length;
        value
    }

    /// A size, or bytes without a unit.
    pub fn size_or_bytes(&mut self) -> Option<Approx> {
        if size::leading(self.rest()).is_some() {
            return self.size();
        }
        self.number().map(Approx::exact)
    }

    pub fn number(&mut self) -> Option<u64> {
        let rest = self.rest();
        let text = rest.trim_start_matches(' ');
        let length = text.bytes().take_while(u8::is_ascii_digit).count();
        let value = text[..length].parse().ok()?;
        self.at += rest.len() - text.len() + length;
        Some(value)
    }

    /// The device of `GPU d`: a number, or in torch 2.3 a byte with that value, which white space may have swallowed.
    pub fn device(&mut self) -> Option<u32> {
        if let Some(number) = self.number() {
            return u32::try_from(number).ok();
        }
        let rest = self.rest();
        let text = rest.trim_start_matches(' ');
        let byte = text.chars().next().filter(|c| c.is_control())?;
        self.at += rest.len() - text.len() + byte.len_utf8();
        Some(u32::from(byte))
    }
}
