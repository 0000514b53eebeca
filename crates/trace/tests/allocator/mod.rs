//! A small caching allocator that follows PyTorch's rules and writes down both what PyTorch records and what is true.
//!
//! Written apart from the crate's own arithmetic on purpose: free blocks are searched and cut as PyTorch does it.

use std::collections::{BTreeMap, BTreeSet};

use trace::{Action, Block, BlockState, Device, Event, NameId, Recording, Segment, Settings, StackId, StreamId};

const MIB: u64 = 1 << 20;
/// An expandable segment's range of addresses; small and large pools of each stream have one each.
const RANGE: u64 = 1 << 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Held,
    Pending,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    size: u64,
    requested: u64,
    state: State,
    segment: u64,
    small: bool,
    stream: u32,
}

/// What PyTorch's counters say after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    pub allocated: u64,
    pub active: u64,
    pub reserved: u64,
}

/// The allocator, its record and the truth.
pub struct Allocator {
    settings: Settings,
    pieces: BTreeMap<u64, Piece>,
    free: BTreeSet<(bool, u32, u64, u64)>,
    /// Start of each cudaMalloc'd segment, or of each run of pages, with its size.
    segments: BTreeMap<u64, u64>,
    next_segment: u64,
    now: Counters,
    pub device: Device,
    pub counters: Vec<Counters>,
    /// Address, real size and event of every allocation, in order.
    pub sizes: Vec<(u64, u64)>,
}

impl Allocator {
    pub fn new(settings: Settings) -> Allocator {
        let mut device = Device::default();
        device.events.stream(0);
        device.events.stream(7);
        Allocator {
            settings,
            pieces: BTreeMap::new(),
            free: BTreeSet::new(),
            segments: BTreeMap::new(),
            next_segment: 0x7f00_0000_0000,
            now: Counters::default(),
            device,
            counters: Vec::new(),
            sizes: Vec::new(),
        }
    }

    pub fn malloc(&mut self, requested: u64, stream: u32) -> u64 {
        let rounded = self.round(requested);
        let small = rounded <= MIB;
        let address = self.find(rounded, small, stream).unwrap_or_else(|| self.grow(rounded, small, stream));
        let piece = self.pieces[&address];
        self.free.remove(&(piece.small, piece.stream, piece.size, address));
        let size = if self.cuts(piece.size, rounded, small) { rounded } else { piece.size };
        if size < piece.size {
            self.put(address + size, Piece { size: piece.size - size, ..piece });
        }
        self.pieces.insert(address, Piece { size, requested, state: State::Held, ..piece });
        self.now.allocated += size;
        self.now.active += size;
        self.sizes.push((address, size));
        self.emit(Action::Alloc, address, requested, stream);
        address
    }

    /// The tensor dies. `used_elsewhere`: the memory waits for another stream, until `complete`.
    pub fn free(&mut self, address: u64, used_elsewhere: bool) {
        let piece = self.pieces[&address];
        self.now.allocated -= piece.size;
        self.emit(Action::FreeRequested, address, piece.requested, piece.stream);
        self.pieces.insert(address, Piece { state: State::Pending, ..piece });
        if !used_elsewhere {
            self.complete(address);
        }
    }

    pub fn complete(&mut self, address: u64) {
        let piece = self.pieces[&address];
        self.now.active -= piece.size;
        self.emit(Action::FreeCompleted, address, piece.requested, piece.stream);
        self.put(address, Piece { state: State::Free, ..piece });
    }

    /// Gives back whole free segments, and whole free pages of expandable ones.
    pub fn empty_cache(&mut self) {
        let free: Vec<(u64, Piece)> = self
            .pieces
            .iter()
            .filter(|(_, piece)| piece.state == State::Free)
            .map(|(&at, &piece)| (at, piece))
            .collect();
        for (address, piece) in free {
            if self.expandable() {
                self.unmap(address, piece);
            } else if piece.size == self.segments[&piece.segment] {
                self.drop_piece(address, piece);
                self.segments.remove(&address);
                self.now.reserved -= piece.size;
                self.emit(Action::SegmentFree, address, piece.size, piece.stream);
            }
        }
    }

    /// A recording of everything, or of the last events only, as a ring buffer keeps them.
    pub fn recording(&self, keep: usize) -> Recording {
        let mut device = Device { segments: self.final_segments(), ..Device::default() };
        for handle in [0, 7] {
            device.events.stream(handle);
        }
        let skipped = self.device.events.len().saturating_sub(keep);
        for (_, event) in self.device.events.iter().skip(skipped) {
            device.events.push(event);
        }
        Recording { devices: vec![device], settings: self.settings.clone(), ..Recording::default() }
    }

    fn expandable(&self) -> bool {
        self.settings.expandable_segments == Some(true)
    }

    fn round(&self, requested: u64) -> u64 {
        let divisions = self.settings.roundup_power2_divisions.first().copied().unwrap_or(0);
        if divisions > 1 && requested > 512 * divisions {
            let mut power = 1;
            while power * 2 <= requested {
                power *= 2;
            }
            let step = power / divisions;
            return requested.div_ceil(step) * step;
        }
        requested.max(1).div_ceil(512) * 512
    }

    fn cuts(&self, size: u64, rounded: u64, small: bool) -> bool {
        let rest = size - rounded;
        if small || self.expandable() {
            return rest >= 512;
        }
        rounded < self.max_split() && rest > MIB
    }

    fn max_split(&self) -> u64 {
        self.settings.max_split_size.unwrap_or(u64::MAX)
    }

    fn find(&self, rounded: u64, small: bool, stream: u32) -> Option<u64> {
        let &(is_small, on, size, address) = self.free.range((small, stream, rounded, 0)..).next()?;
        let fits = is_small == small && on == stream;
        let oversize = rounded < self.max_split() && size >= self.max_split();
        let wasteful = rounded >= self.max_split() && size >= rounded + 20 * MIB;
        (fits && !oversize && !wasteful).then_some(address)
    }

    fn grow(&mut self, rounded: u64, small: bool, stream: u32) -> u64 {
        if self.expandable() { self.map(rounded, small, stream) } else { self.cuda_malloc(rounded, small, stream) }
    }

    fn cuda_malloc(&mut self, rounded: u64, small: bool, stream: u32) -> u64 {
        let size = match rounded {
            0..=MIB => 2 * MIB,
            r if r < 10 * MIB => 20 * MIB,
            r => r.div_ceil(2 * MIB) * 2 * MIB,
        };
        let address = self.next_segment;
        // Some segments touch, as they do on a card: blocks must not merge across them.
        self.next_segment += size + if self.segments.len().is_multiple_of(3) { 2 * MIB } else { 0 };
        self.segments.insert(address, size);
        self.now.reserved += size;
        self.emit(Action::SegmentAlloc, address, size, stream);
        self.put(address, Piece { size, requested: 0, state: State::Free, segment: address, small, stream });
        address
    }

    /// Maps pages behind the last free bytes of the range, or at its first hole that is large enough.
    fn map(&mut self, rounded: u64, small: bool, stream: u32) -> u64 {
        let base = RANGE * (1 + 2 * u64::from(stream) + u64::from(small));
        let granule = if small { 2 * MIB } else { 20 * MIB };
        let mut end = base;
        for (&start, piece) in self.pieces.range(base..base + RANGE) {
            if start > end {
                break;
            }
            end = start + piece.size;
        }
        let size = rounded.div_ceil(granule) * granule;
        if self.pieces.range(end..end + size).next().is_some() {
            end = self.pieces.range(base..base + RANGE).next_back().map_or(base, |(at, piece)| at + piece.size);
        }
        self.now.reserved += size;
        self.emit(Action::SegmentMap, end, size, stream);
        self.put(end, Piece { size, requested: 0, state: State::Free, segment: base, small, stream });
        let (&start, _) = self.pieces.range(..=end).next_back().expect("it was just put there");
        start
    }

    fn unmap(&mut self, address: u64, piece: Piece) {
        let granule = if piece.small { 2 * MIB } else { 20 * MIB };
        let base = piece.segment;
        let first = (address - base).div_ceil(granule) * granule + base;
        let last = (address + piece.size - base) / granule * granule + base;
        if last <= first {
            return;
        }
        self.drop_piece(address, piece);
        self.now.reserved -= last - first;
        self.emit(Action::SegmentUnmap, first, last - first, piece.stream);
        if first > address {
            self.put(address, Piece { size: first - address, ..piece });
        }
        if address + piece.size > last {
            self.put(last, Piece { size: address + piece.size - last, ..piece });
        }
    }

    fn drop_piece(&mut self, address: u64, piece: Piece) {
        self.pieces.remove(&address);
        self.free.remove(&(piece.small, piece.stream, piece.size, address));
    }

    /// Puts a free piece there and merges it with free neighbours of the same segment.
    fn put(&mut self, mut address: u64, mut piece: Piece) {
        let joins = |other: &Piece| other.state == State::Free && other.segment == piece.segment;
        let before = self.pieces.range(..address).next_back().map(|(&at, &piece)| (at, piece));
        let after = self.pieces.get(&(address + piece.size)).copied().filter(joins);
        let before = before.filter(|(at, before)| at + before.size == address && joins(before));
        if let Some(after) = after {
            self.drop_piece(address + piece.size, after);
            piece.size += after.size;
        }
        if let Some((at, before)) = before {
            self.pieces.remove(&address);
            self.drop_piece(at, before);
            (address, piece.size) = (at, piece.size + before.size);
        }
        self.pieces.insert(address, Piece { state: State::Free, ..piece });
        self.free.insert((piece.small, piece.stream, piece.size, address));
    }

    fn emit(&mut self, action: Action, address: u64, size: u64, stream: u32) {
        let event = Event {
            action,
            address,
            size,
            stream: StreamId(stream),
            time_us: None,
            stack: StackId::EMPTY,
            note: NameId::EMPTY,
        };
        self.device.events.push(event);
        self.counters.push(self.now);
    }

    fn final_segments(&self) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        for (&address, piece) in &self.pieces {
            let state = match piece.state {
                State::Free => BlockState::Free,
                State::Held => BlockState::Allocated,
                State::Pending => BlockState::PendingFree,
            };
            let block =
                Block { address, size: piece.size, requested: Some(piece.requested), state, stack: StackId::EMPTY };
            match segments.last_mut() {
                Some(last)
                    if last.address + last.size == address && (self.expandable() || piece.segment != address) =>
                {
                    last.size += piece.size;
                    last.blocks.push(block);
                }
                _ => segments.push(Segment {
                    address,
                    size: piece.size,
                    stream: StreamId(piece.stream),
                    small: piece.small,
                    pool: (0, 0),
                    expandable: self.expandable(),
                    stack: StackId::EMPTY,
                    blocks: vec![block],
                }),
            }
        }
        segments
    }
}
