//! Damage to a file: flips, cuts, splices, opcodes where none should be. The same seed does the same damage.

/// Numbers that look random (xorshift).
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }
}

/// Every opcode of pickle, those that are refused too.
const OPCODES: &[u8] = b"\x80\x95.(012N\x88\x89JKM\x8a\x8bG\x8cX\x8dUTCB\x8e\x96]ael)t\x85\x86\x87}dsu\x8f\x90\x91qr\x94hjci\x93oRb\x81\x92\x82PQ\x97ILFSVgp";

/// Damages `bytes` in one to eight places. `other` is a file to take pieces from.
pub fn mutate(bytes: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + chance.below(8) {
        damage(&mut bytes, other, chance);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let at = chance.below(bytes.len());
    match chance.below(10) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
        1 if !bytes.is_empty() => bytes[at] = chance.number() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..(at + chance.below(64)).min(bytes.len()))),
        4 => bytes.insert(at, OPCODES[chance.below(OPCODES.len())]),
        5 if !bytes.is_empty() => bytes[at] = OPCODES[chance.below(OPCODES.len())],
        6 => insert_piece(bytes, at, other, chance),
        7 => repeat_piece(bytes, at, chance),
        8 => lie_about_a_length(bytes, at, chance),
        _ => swap_pieces(bytes, chance),
    }
}

fn insert_piece(bytes: &mut Vec<u8>, at: usize, other: &[u8], chance: &mut Chance) {
    let from = chance.below(other.len());
    let to = (from + chance.below(2000)).min(other.len());
    bytes.splice(at..at, other[from..to].iter().copied());
}

fn repeat_piece(bytes: &mut Vec<u8>, at: usize, chance: &mut Chance) {
    let piece = bytes[at..(at + chance.below(200)).min(bytes.len())].to_vec();
    let times = 1 + chance.below(50);
    bytes.splice(at..at, piece.repeat(times));
}

/// Large numbers after opcodes that have a length or a place.
fn lie_about_a_length(bytes: &mut Vec<u8>, at: usize, chance: &mut Chance) {
    const WITH_LENGTH: &[u8] = b"X\x8d\x8b\x8e\x96BTrj\x8a";
    let lie = (chance.number() >> chance.below(64)).to_le_bytes();
    let opcode = WITH_LENGTH[chance.below(WITH_LENGTH.len())];
    bytes.splice(at..at, [&[opcode][..], &lie[..4 + 4 * chance.below(2)]].concat());
}

fn swap_pieces(bytes: &mut [u8], chance: &mut Chance) {
    let length = chance.below(100).min(bytes.len() / 2);
    let a = chance.below(bytes.len() - 2 * length);
    let (first, second) = bytes.split_at_mut(a + length);
    let second = &mut second[..length];
    first[a..].swap_with_slice(second);
}
