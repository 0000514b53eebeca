//! A value in eight bytes: a tag of four bits, and sixty for a number or the place of the rest.

/// A value of the machine. Copying one never copies what it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle(u64);

/// What a handle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    Constant,
    /// An integer of sixty bits.
    Int,
    /// An integer that needs more: a place in the store.
    Wide,
    /// A place in the store.
    Float,
    /// A text: the id that the meaning gave it.
    Text,
    /// A tuple of two small numbers, such as a pool's id. Newer snapshots have one in each event.
    Pair,
    /// A list, dict or tuple in the store.
    Container,
    /// What the meaning made of a dict or list.
    Frame,
    Stack,
    Event,
    Segment,
    Block,
    Annotation,
    Past,
}

const TAG_BITS: u32 = 4;
const PAIR_BITS: u32 = 30;

impl Handle {
    pub const NONE: Handle = Handle::constant(0);
    pub const FALSE: Handle = Handle::constant(1);
    pub const TRUE: Handle = Handle::constant(2);
    /// A list without items, once used.
    pub const EMPTY: Handle = Handle::constant(3);
    /// Something that no snapshot needs: bytes, a number of hundreds of digits.
    pub const OPAQUE: Handle = Handle::constant(4);
    /// A place of the memo that nothing was put in.
    pub const MISSING: Handle = Handle::constant(5);

    const fn constant(number: u64) -> Handle {
        Handle(number << TAG_BITS | Tag::Constant as u64)
    }

    pub fn new(tag: Tag, place: u32) -> Handle {
        Handle(u64::from(place) << TAG_BITS | tag as u64)
    }

    /// `None` where the number needs more than sixty bits.
    pub fn int(number: i64) -> Option<Handle> {
        let shifted = number << TAG_BITS;
        (shifted >> TAG_BITS == number).then_some(Handle(shifted as u64 | Tag::Int as u64))
    }

    pub fn small(number: i32) -> Handle {
        Handle((i64::from(number) << TAG_BITS) as u64 | Tag::Int as u64)
    }

    /// An integer of up to seven bytes, from the eight that begin with them; `None` for other lengths and for those
    /// that need a place in the store.
    #[inline]
    pub fn short_long(bytes: [u8; 8], length: u32) -> Option<Handle> {
        if !(1..=7).contains(&length) {
            return None;
        }
        // Shifted up, so that shifting down again copies the sign.
        let shift = 64 - 8 * length;
        Handle::int((u64::from_le_bytes(bytes) << shift) as i64 >> shift)
    }

    /// Stays what it is, as no container may.
    #[inline]
    pub fn is_settled(self) -> bool {
        !self.is(Tag::Container) && self != Handle::MISSING
    }

    /// `None` where the numbers are not small.
    pub fn pair(first: Handle, second: Handle) -> Option<Handle> {
        let small =
            |handle: Handle| handle.as_int().and_then(|n| u64::try_from(n).ok()).filter(|n| n >> PAIR_BITS == 0);
        Some(Handle((small(first)? << PAIR_BITS | small(second)?) << TAG_BITS | Tag::Pair as u64))
    }

    #[inline]
    pub fn is(self, tag: Tag) -> bool {
        self.0 & ((1 << TAG_BITS) - 1) == tag as u64
    }

    /// The place of a handle made by `new`.
    #[inline]
    pub fn place(self) -> u32 {
        (self.0 >> TAG_BITS) as u32
    }

    #[inline]
    pub fn place_of(self, tag: Tag) -> Option<u32> {
        self.is(tag).then(|| self.place())
    }

    #[inline]
    pub fn as_int(self) -> Option<i64> {
        self.is(Tag::Int).then_some(self.0 as i64 >> TAG_BITS)
    }

    pub fn as_pair(self) -> Option<(u64, u64)> {
        let numbers = self.0 >> TAG_BITS;
        self.is(Tag::Pair).then_some((numbers >> PAIR_BITS, numbers & ((1 << PAIR_BITS) - 1)))
    }

    pub fn as_bool(self) -> Option<bool> {
        match self {
            Handle::TRUE => Some(true),
            Handle::FALSE => Some(false),
            _ => None,
        }
    }

    /// All bits, for hashing.
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Handle({}:{})", self.0 & ((1 << TAG_BITS) - 1), self.0 >> TAG_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_sixty_bits_fit() {
        for number in [0, 1, -1, 255, i64::from(i32::MIN), (1 << 59) - 1, -(1 << 59)] {
            assert_eq!(Handle::int(number).and_then(Handle::as_int), Some(number));
        }
        assert_eq!(Handle::int(1 << 59), None);
        assert_eq!(Handle::int(i64::MIN), None);
        assert_eq!(Handle::small(-7).as_int(), Some(-7));
    }

    #[test]
    fn a_pair_of_small_numbers_fits() {
        let pair = Handle::pair(Handle::small(3), Handle::small((1 << 30) - 1)).unwrap();
        assert_eq!(pair.as_pair(), Some((3, (1 << 30) - 1)));
        assert_eq!(Handle::pair(Handle::small(-1), Handle::small(0)), None);
        assert_eq!(Handle::pair(Handle::NONE, Handle::small(0)), None);
    }
}
