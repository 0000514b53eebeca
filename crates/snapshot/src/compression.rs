//! Compressed files, told by their first bytes.

use std::io::{BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

use crate::content::{Content, ENOUGH};

/// The bytes that a file stands for, and what they look like.
pub struct Opened<'a> {
    pub content: Content,
    pub compressed: bool,
    pub bytes: Box<dyn Read + Send + 'a>,
}

/// Looks at the beginning of `source` and unpacks it where it is compressed.
pub fn open<'a>(mut source: impl Read + Send + 'a) -> std::io::Result<Opened<'a>> {
    let start = beginning(&mut source)?;
    let content = Content::of(&start);
    let whole = Cursor::new(start).chain(source);
    let mut unpacked: Box<dyn Read + Send + 'a> = match content {
        Content::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole))),
        Content::Xz => Box::new(XzReader::new(BufReader::with_capacity(BUFFER, whole), true)),
        Content::Zstd => Box::new(Zstd::new(BufReader::with_capacity(BUFFER, whole))),
        _ => return Ok(Opened { content, compressed: false, bytes: Box::new(whole) }),
    };
    let start = beginning(&mut unpacked)?;
    let content = Content::of(&start);
    Ok(Opened { content, compressed: true, bytes: Box::new(Cursor::new(start).chain(unpacked)) })
}

const BUFFER: usize = 128 * 1024;

fn beginning(source: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(ENOUGH);
    match source.take(ENOUGH as u64).read_to_end(&mut start) {
        // A compressed file may break off at once and still begin with something.
        Err(error) if start.is_empty() => Err(error),
        _ => Ok(start),
    }
}

/// Frames of zstd, one after the other; the library reads one.
struct Zstd<R: BufRead> {
    state: ZstdState<R>,
}

enum ZstdState<R: BufRead> {
    Between(R),
    Inside(Box<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
    Done,
}

impl<R: BufRead> Zstd<R> {
    fn new(source: R) -> Self {
        Zstd { state: ZstdState::Between(source) }
    }

    /// Moves on to the next frame; `false` at the end.
    fn next_frame(&mut self) -> std::io::Result<bool> {
        let mut source = match std::mem::replace(&mut self.state, ZstdState::Done) {
            ZstdState::Between(source) => source,
            ZstdState::Inside(decoder) => decoder.into_inner(),
            ZstdState::Done => return Ok(false),
        };
        if source.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let decoder = StreamingDecoder::new(source).map_err(std::io::Error::other)?;
        self.state = ZstdState::Inside(Box::new(decoder));
        Ok(true)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        loop {
            if let ZstdState::Inside(decoder) = &mut self.state {
                let count = decoder.read(into)?;
                if count > 0 || into.is_empty() {
                    return Ok(count);
                }
            }
            if !self.next_frame()? {
                return Ok(0);
            }
        }
    }
}
