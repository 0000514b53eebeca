//! Reads ahead on a thread of its own, so that unpacking and reading a pickle happen at the same time.

use std::io::{ErrorKind, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

const BLOCK: usize = 512 * 1024;
/// Blocks that may wait. With the one that is filled and the one that is read, 3 MiB in all.
const WAITING: usize = 4;

/// A reader whose bytes another thread gets.
pub struct Ahead {
    full: Receiver<std::io::Result<Block>>,
    empty: SyncSender<Block>,
    block: Block,
    at: usize,
}

/// Used again and again, so that its bytes are made once.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    length: usize,
}

impl Ahead {
    /// Starts the thread; it ends with the source, or when this reader goes.
    pub fn start<'scope>(scope: &'scope Scope<'scope, '_>, source: impl Read + Send + 'scope) -> Ahead {
        let (to_reader, full) = sync_channel(WAITING);
        let (empty, to_thread) = sync_channel(WAITING + 2);
        scope.spawn(move || pump(source, &to_reader, &to_thread));
        Ahead { full, empty, block: Block::default(), at: 0 }
    }
}

fn pump(mut source: impl Read, full: &SyncSender<std::io::Result<Block>>, empty: &Receiver<Block>) {
    loop {
        let mut block = empty.try_recv().unwrap_or_else(|_| Block { bytes: vec![0; BLOCK], length: 0 });
        let result = block.fill(&mut source);
        let last = block.length < block.bytes.len();
        // What came before an error still counts.
        if block.length > 0 && full.send(Ok(block)).is_err() {
            return;
        }
        if let Err(error) = result {
            // Nobody listens: then nobody needs to know.
            let _ = full.send(Err(error));
        }
        if last {
            return;
        }
    }
}

impl Block {
    /// Fills it, or as much as there is.
    fn fill(&mut self, source: &mut impl Read) -> std::io::Result<()> {
        self.length = 0;
        while self.length < self.bytes.len() {
            match source.read(&mut self.bytes[self.length..]) {
                Ok(0) => break,
                Ok(count) => self.length += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.block.length {
            match self.full.recv() {
                Ok(next) => {
                    let used = std::mem::replace(&mut self.block, next?);
                    self.at = 0;
                    // A full channel only means that the thread has enough blocks.
                    let _ = self.empty.try_send(used);
                }
                Err(_) => return Ok(0),
            }
        }
        let count = into.len().min(self.block.length - self.at);
        into[..count].copy_from_slice(&self.block.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive_in_order() {
        let bytes: Vec<u8> = (0..3 * BLOCK + 17).map(|n| (n / 7) as u8).collect();
        let mut read = Vec::new();
        std::thread::scope(|scope| Ahead::start(scope, &bytes[..]).read_to_end(&mut read)).unwrap();
        assert!(read == bytes);
    }

    #[test]
    fn the_thread_ends_when_nobody_reads() {
        std::thread::scope(|scope| drop(Ahead::start(scope, std::io::repeat(0))));
    }

    #[test]
    fn bytes_before_an_error_arrive() {
        struct Fails(u32);
        impl Read for Fails {
            fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
                self.0 += 1;
                if self.0 > 1 {
                    return Err(std::io::Error::other("gone"));
                }
                into[0] = 7;
                Ok(1)
            }
        }
        let mut read = Vec::new();
        let result = std::thread::scope(|scope| Ahead::start(scope, Fails(0)).read_to_end(&mut read));
        assert_eq!(result.unwrap_err().to_string(), "gone");
        assert_eq!(read, [7]);
    }
}
