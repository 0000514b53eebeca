//! What a file looks like from its first bytes. Names lie; magic numbers rarely do.

/// How many bytes are enough to tell.
pub const ENOUGH: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Pickle,
    /// Protocol 0 or 1, which has no header.
    OldPickle,
    Gzip,
    Xz,
    Zstd,
    /// Readable text that may be a log.
    Text,
    Json,
    Html,
    /// What `torch.save` writes since 1.6.
    Zip,
    Other(&'static str),
    Empty,
}

impl Content {
    pub fn of(start: &[u8]) -> Content {
        let magic = |bytes: &[u8]| start.starts_with(bytes);
        match start {
            [] => Content::Empty,
            [0x80, 2..=5, ..] => Content::Pickle,
            _ if magic(&[0x1f, 0x8b]) => Content::Gzip,
            _ if magic(b"\xfd7zXZ\0") => Content::Xz,
            // A frame, or a skippable one before it.
            _ if magic(&[0x28, 0xb5, 0x2f, 0xfd]) || matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) => {
                Content::Zstd
            }
            _ if magic(b"PK\x03\x04") || magic(b"PK\x05\x06") => Content::Zip,
            _ => other_magic(start).map_or_else(|| text(start), Content::Other),
        }
    }

    /// In words, for a message "this is …".
    pub fn in_words(self) -> &'static str {
        match self {
            Content::Pickle | Content::OldPickle => "a pickle",
            Content::Gzip | Content::Xz | Content::Zstd => "a compressed file inside another",
            Content::Text => "text",
            Content::Json => "JSON, perhaps a profiler's trace",
            Content::Html => "an HTML page",
            Content::Zip => "a zip archive, as torch.save writes checkpoints",
            Content::Other(words) => words,
            Content::Empty => "an empty file",
        }
    }
}

fn other_magic(start: &[u8]) -> Option<&'static str> {
    const MAGIC: &[(&[u8], &str)] = &[
        (b"\x7fELF", "a program or core dump"),
        (b"\x89PNG", "a picture"),
        (b"\xff\xd8\xff", "a picture"),
        (b"%PDF", "a PDF"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"BZh", "a bzip2 file, which is not one of .gz, .xz and .zst"),
        (b"\x04\x22\x4d\x18", "an lz4 file, which is not one of .gz, .xz and .zst"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"\x93NUMPY", "a NumPy array"),
        (b"\x89HDF", "an HDF5 file"),
        (b"PAR1", "a Parquet file"),
        (b"GGUF", "a GGUF model"),
    ];
    let found = MAGIC.iter().find(|(magic, _)| start.starts_with(magic)).map(|&(_, words)| words);
    found
        .or_else(|| is_safetensors(start).then_some("a safetensors file"))
        .or_else(|| is_tar(start).then_some("a tar archive"))
}

/// The length of its JSON header, then the header.
fn is_safetensors(start: &[u8]) -> bool {
    matches!(start, [_, _, _, _, 0, 0, 0, 0, b'{', b'"', ..])
}

fn is_tar(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar")
}

fn text(start: &[u8]) -> Content {
    if is_old_pickle(start) {
        return Content::OldPickle;
    }
    let control =
        start.iter().filter(|&&byte| byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x1b | 0x08)).count();
    if control > start.len() / 50 {
        return Content::Other("a binary file of an unknown kind");
    }
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let lower = text.get(..15.min(text.len())).unwrap_or(text).to_ascii_lowercase();
    match text.as_bytes().first() {
        None => Content::Empty,
        Some(b'<') if lower.starts_with("<!doctype html") || lower.starts_with("<html") => Content::Html,
        Some(b'{') => Content::Json,
        // A log may begin with "[rank0]:", which no JSON does.
        Some(b'[') if text[1..].trim_start().starts_with(['{', '[', '"', ']']) => Content::Json,
        _ => Content::Text,
    }
}

/// `(dp0\n`, `(lp0\n` or, in protocol 1, `}q\0(`.
fn is_old_pickle(start: &[u8]) -> bool {
    matches!(start, [b'(', b'd' | b'l' | b't', b'p', b'0'..=b'9', ..] | [b'}' | b']', b'q', _, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_people_drop() {
        let cases: &[(&[u8], Content)] = &[
            (b"", Content::Empty),
            (b"\x80\x04\x95", Content::Pickle),
            (b"\x80\x05\x95", Content::Pickle),
            (b"(dp0\nVsegments\n", Content::OldPickle),
            (b"}q\x00(X\x08", Content::OldPickle),
            (b"PK\x03\x04\0\0", Content::Zip),
            (b"\x1f\x8b\x08", Content::Gzip),
            (b"{\"schema\": 1}", Content::Json),
            (b"[ {\"ph\": \"X\"}]", Content::Json),
            (b"[rank0]: Traceback (most recent call last):", Content::Text),
            (b"<!DOCTYPE html>\n<html>", Content::Html),
            (b"step 1 loss 2.0\n\x1b[31mCUDA out of memory\x1b[0m", Content::Text),
            (b"\xef\xbb\xbf{\"a\": 1}", Content::Json),
            (b"   \n", Content::Empty),
        ];
        for (start, content) in cases {
            assert_eq!(Content::of(start), *content, "{}", String::from_utf8_lossy(start));
        }
        assert!(matches!(Content::of(b"\x7fELF\x02"), Content::Other(_)));
        assert!(matches!(Content::of(&[0, 1, 2, 3, 4, 5]), Content::Other(_)));
    }
}
