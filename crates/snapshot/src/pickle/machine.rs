//! The machine: opcodes in, handles out.

use std::io::Read;

use super::flat::Flat;
use super::handle::{Handle, Tag};
use super::opcode as op;
use super::runs::Runs;
use super::store::{Kind, State, Store};
use super::window::Window;
use super::{Meaning, Stop};

/// No opcode but those with a text or bytes is longer.
const MARGIN: usize = 32;
/// Names, messages and tracebacks are far shorter; a longer text is skipped.
const LONGEST_TEXT: u64 = 16 << 20;

pub struct Machine<R, M> {
    pub(super) window: Window<R>,
    pub meaning: M,
    pub store: Store,
    pub(super) stack: Vec<Handle>,
    /// Heights of the stack where a MARK is.
    pub(super) marks: Vec<usize>,
    pub(super) memo: Vec<Handle>,
    runs: Runs,
    /// Changes to something after it was used: no pickler writes them, and they are ignored.
    pub late_changes: u64,
}

impl<R: Read, M: Meaning> Machine<R, M> {
    pub fn new(source: R, meaning: M) -> Self {
        Machine {
            window: Window::new(source),
            meaning,
            store: Store::default(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
            runs: Runs::default(),
            late_changes: 0,
        }
    }

    /// How far the pickle has been read.
    pub fn position(&self) -> u64 {
        self.window.position()
    }

    /// What the source said if it failed, once.
    pub fn take_failure(&mut self) -> Option<std::io::Error> {
        self.window.take_failure()
    }

    /// Runs to STOP and returns the value there. `allowance` is asked now and then how many bytes of memory may be held
    /// after so many bytes of pickle.
    pub fn run(&mut self, allowance: &dyn Fn(u64) -> u64) -> Result<Handle, Stop> {
        loop {
            if self.window.left() < MARGIN && !self.window.finished() {
                self.window.refill();
                if self.held_bytes() > allowance(self.window.position()) {
                    return Err(Stop::TooMuch);
                }
            }
            let opcode = self.window.byte()?;
            if opcode == op::STOP {
                let root = self.pop()?;
                return Ok(self.settle(root));
            }
            self.step(opcode)?;
        }
    }

    fn held_bytes(&self) -> u64 {
        let handles = self.stack.len() + self.marks.len() + self.memo.len();
        (handles * size_of::<Handle>()) as u64
            + self.store.held_bytes()
            + self.runs.held_bytes()
            + self.meaning.held_bytes()
    }

    // In the order of what a snapshot has most of; the compiler makes a jump table of it either way.
    #[inline(always)]
    fn step(&mut self, opcode: u8) -> Result<(), Stop> {
        match opcode {
            op::BINGET => {
                let index = self.window.byte()?;
                self.get(index.into())?;
                self.run_of_gets()?;
            }
            op::LONG_BINGET => {
                let index = self.u32()?;
                self.get(index)?;
                self.run_of_gets()?;
            }
            op::MEMOIZE => self.put(self.memo.len() as u64)?,
            op::MARK => self.begin_items(),
            op::BININT1 => {
                let number = self.window.byte()?;
                self.stack.push(Handle::small(number.into()));
            }
            op::BININT2 => {
                let number = u16::from_le_bytes(self.window.array()?);
                self.stack.push(Handle::small(number.into()));
            }
            op::BININT => {
                let number = i32::from_le_bytes(self.window.array()?);
                self.stack.push(Handle::small(number));
            }
            op::LONG1 => {
                let length = self.window.byte()?;
                self.long(length.into())?;
            }
            op::SHORT_BINUNICODE => {
                let length = self.window.byte()?;
                self.text(length.into())?;
            }
            op::EMPTY_DICT => self.dict(),
            op::EMPTY_LIST => self.create(Kind::List),
            op::SETITEMS => self.set_items()?,
            op::APPENDS => self.append_all()?,
            op::APPEND => self.append()?,
            op::TUPLE2 => self.tuple(2)?,
            op::NONE => self.stack.push(Handle::NONE),
            op::NEWTRUE => self.stack.push(Handle::TRUE),
            op::NEWFALSE => self.stack.push(Handle::FALSE),
            _ => self.seldom(opcode)?,
        }
        Ok(())
    }

    fn seldom(&mut self, opcode: u8) -> Result<(), Stop> {
        match opcode {
            op::PROTO => self.protocol()?,
            // A hint how much to read at once; we read as we like.
            op::FRAME => drop(self.window.array::<8>()?),
            op::BINPUT => {
                let index = self.window.byte()?;
                self.put(index.into())?;
            }
            op::LONG_BINPUT => {
                let index = self.u32()?;
                self.put(index.into())?;
            }
            op::BINFLOAT => {
                let number = f64::from_be_bytes(self.window.array()?);
                let handle = self.store.float(number);
                self.stack.push(handle);
            }
            op::LONG4 => {
                let length = self.u32()?;
                self.long(length)?;
            }
            op::SETITEM => self.set_item()?,
            op::EMPTY_TUPLE => self.tuple(0)?,
            op::TUPLE1 => self.tuple(1)?,
            op::TUPLE3 => self.tuple(3)?,
            op::TUPLE | op::FROZENSET => {
                let from = self.mark()?;
                self.tuple(self.stack.len() - from)?;
            }
            op::LIST => self.collect(Kind::List)?,
            op::DICT => self.collect(Kind::Dict)?,
            // Sets keep what they were given; nothing here asks them for more.
            op::EMPTY_SET => self.create(Kind::List),
            op::ADDITEMS => self.append_all()?,
            op::POP => self.discard()?,
            op::POP_MARK => {
                let from = self.mark()?;
                self.stack.truncate(from);
            }
            op::DUP => {
                let top = self.top()?;
                self.share(top);
                self.stack.push(top);
            }
            _ => self.texts_and_bytes(opcode)?,
        }
        Ok(())
    }

    fn texts_and_bytes(&mut self, opcode: u8) -> Result<(), Stop> {
        let length = match opcode {
            op::SHORT_BINSTRING | op::SHORT_BINBYTES => self.window.byte()?.into(),
            op::BINUNICODE | op::BINSTRING | op::BINBYTES => self.u32()?.into(),
            op::BINUNICODE8 | op::BINBYTES8 | op::BYTEARRAY8 => u64::from_le_bytes(self.window.array()?),
            _ => return Err(self.no_data(opcode)),
        };
        match opcode {
            op::SHORT_BINBYTES | op::BINBYTES | op::BINBYTES8 | op::BYTEARRAY8 => self.opaque(length),
            _ => self.text(length),
        }
    }

    fn protocol(&mut self) -> Result<(), Stop> {
        match self.window.byte()? {
            0..=5 => Ok(()),
            version => Err(Stop::Malformed(format!("pickle protocol {version}, and there are 2 to 5"))),
        }
    }

    #[cold]
    fn no_data(&mut self, opcode: u8) -> Stop {
        let at = self.window.position() - 1;
        if let Some(name) = op::refused(opcode) {
            return Stop::Refused { opcode: name, at, global: self.global(opcode) };
        }
        Stop::Malformed(match op::text_protocol(opcode) {
            Some(name) => format!("opcode {name} of the text protocols 0 and 1"),
            None => format!("0x{opcode:02x} where an opcode should be"),
        })
    }

    /// What an opcode would have imported, `posix.system`.
    fn global(&mut self, opcode: u8) -> Option<String> {
        let (module, name) = match opcode {
            op::GLOBAL | op::INST => (self.line()?, self.line()?),
            op::STACK_GLOBAL => {
                let name = self.stack.pop()?;
                (self.meaning.spelled(self.stack.pop()?), self.meaning.spelled(name))
            }
            _ => return None,
        };
        Some(format!("{module}.{name}"))
    }

    fn line(&mut self) -> Option<String> {
        const LONGEST_NAME: usize = 200;
        let mut line = Vec::new();
        while let Ok(byte) = self.window.byte()
            && byte != b'\n'
            && line.len() < LONGEST_NAME
        {
            line.push(byte);
        }
        Some(String::from_utf8_lossy(&line).into_owned()).filter(|line| !line.is_empty())
    }

    fn u32(&mut self) -> Result<u32, Stop> {
        Ok(u32::from_le_bytes(self.window.array()?))
    }

    fn pop(&mut self) -> Result<Handle, Stop> {
        self.stack.pop().ok_or_else(|| malformed("a value is missing"))
    }

    fn top(&self) -> Result<Handle, Stop> {
        self.stack.last().copied().ok_or_else(|| malformed("a value is missing"))
    }

    pub(super) fn mark(&mut self) -> Result<usize, Stop> {
        let mark = self.marks.pop().ok_or_else(|| malformed("a MARK is missing"))?;
        if mark > self.stack.len() {
            return Err(malformed("a MARK was lost"));
        }
        Ok(mark)
    }

    /// POP takes a MARK where one is on top.
    fn discard(&mut self) -> Result<(), Stop> {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
            return Ok(());
        }
        self.pop().map(drop)
    }

    fn create(&mut self, kind: Kind) {
        let container = self.store.create(kind);
        self.stack.push(container);
    }

    #[inline]
    fn dict(&mut self) {
        let (bytes, memo) = (self.window.rest(), &mut self.memo);
        let mut flat = Flat { bytes, at: 0, memo, runs: &mut self.runs, meaning: &mut self.meaning };
        match flat.dict(&self.store) {
            Some(meaning) => {
                let length = flat.at;
                self.window.advance(length);
                self.stack.push(meaning);
            }
            None => self.create(Kind::Dict),
        }
    }

    fn share(&mut self, handle: Handle) {
        if handle.is(Tag::Container) {
            self.store.container_mut(handle).shared = true;
        }
    }

    /// MARK. Where a new list is to get a run of values that was seen before, it has its meaning at once.
    #[inline]
    fn begin_items(&mut self) {
        if let [op::BINGET | op::LONG_BINGET, ..] = self.window.rest()
            && let Some(&list) = self.stack.last()
            && self.store.is_new(list, Kind::List)
            && let Some((meaning, length)) = self.runs.read(self.window.rest(), &self.memo, &mut self.meaning)
        {
            self.window.advance(length);
            self.store.container_mut(list).state = State::Early(meaning);
            return;
        }
        self.marks.push(self.stack.len());
    }

    /// Keys come alone, frames by the dozen.
    #[inline]
    fn run_of_gets(&mut self) -> Result<(), Stop> {
        let rest = self.window.rest();
        let mut at = 0;
        // Five bytes hold either opcode; fewer are left to the next round.
        while let Some(&[opcode, a, b, c, d]) = rest.get(at..).and_then(<[u8]>::first_chunk) {
            let (index, length) = match opcode {
                op::LONG_BINGET => (u32::from_le_bytes([a, b, c, d]), 5),
                op::BINGET => (a.into(), 2),
                _ => break,
            };
            at += length;
            match self.memo.get(index as usize) {
                Some(&handle) if handle.is_settled() => self.stack.push(handle),
                _ => {
                    self.window.advance(at);
                    return self.get(index);
                }
            }
        }
        self.window.advance(at);
        Ok(())
    }

    fn get(&mut self, index: u32) -> Result<(), Stop> {
        match self.memo.get(index as usize) {
            Some(&handle) if handle != Handle::MISSING => {
                self.share(handle);
                self.stack.push(handle);
                Ok(())
            }
            _ => Err(Stop::Malformed(format!("value {index} is used before it comes"))),
        }
    }

    fn put(&mut self, index: u64) -> Result<(), Stop> {
        let top = self.top()?;
        if top.is(Tag::Container) {
            let container = self.store.container_mut(top);
            match container.memo {
                None => container.memo = Some(index as u32),
                Some(_) => container.shared = true,
            }
        }
        match self.memo.len() as u64 {
            length if index == length && length < u64::from(u32::MAX) => self.memo.push(top),
            length if index < length => {
                self.memo[index as usize] = top;
                self.runs.forget();
            }
            // Picklers count up; whoever does not may leave holes, but no more than there were opcodes to fill them.
            _ if index <= self.window.position() && index < u64::from(u32::MAX) => {
                self.memo.resize(index as usize, Handle::MISSING);
                self.memo.push(top);
            }
            _ => return Err(Stop::Malformed(format!("value {index} is kept far from all others"))),
        }
        Ok(())
    }

    #[inline]
    fn long(&mut self, length: u32) -> Result<(), Stop> {
        if let Some(&bytes) = self.window.rest().first_chunk()
            && let Some(number) = Handle::short_long(bytes, length)
        {
            self.window.advance(length as usize);
            self.stack.push(number);
            return Ok(());
        }
        self.longer(length.into())
    }

    fn longer(&mut self, length: u64) -> Result<(), Stop> {
        if length > 16 {
            return self.opaque(length);
        }
        let number = little_endian(self.window.slice(length as usize)?);
        let handle = i64::try_from(number).ok().and_then(Handle::int);
        let handle = handle.unwrap_or_else(|| self.store.wide(number));
        self.stack.push(handle);
        Ok(())
    }

    fn text(&mut self, length: u64) -> Result<(), Stop> {
        if length > LONGEST_TEXT {
            return self.opaque(length);
        }
        let handle = self.meaning.text(self.window.slice(length as usize)?)?;
        self.stack.push(handle);
        Ok(())
    }

    fn opaque(&mut self, length: u64) -> Result<(), Stop> {
        self.window.skip(length)?;
        self.stack.push(Handle::OPAQUE);
        Ok(())
    }
}

pub(super) fn malformed(why: &str) -> Stop {
    Stop::Malformed(why.to_owned())
}

/// Two's complement of up to 16 bytes.
fn little_endian(bytes: &[u8]) -> i128 {
    let mut whole = [if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 }; 16];
    whole[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(whole)
}
