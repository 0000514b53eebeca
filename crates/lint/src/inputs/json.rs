//! A scanner over JSON text that knows where it stands: enough to find and rewrite single values.

/// Deeper values are refused.
const DEEPEST: usize = 512;

pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

/// A scalar, as far as anyone asks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    String(String),
    Other,
}

type Result<T> = std::result::Result<T, String>;

impl<'t> Scanner<'t> {
    pub fn new(text: &'t str) -> Scanner<'t> {
        Scanner { text, at: 0, depth: 0 }
    }

    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The offset of the next value.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The first byte of the next value.
    pub fn peek(&mut self) -> Option<u8> {
        self.space();
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at +=
            rest.iter().take_while(|b| b.is_ascii_whitespace() || **b == 0xef || **b == 0xbb || **b == 0xbf).count();
    }

    fn wrong<T>(&self, expected: &str) -> Result<T> {
        let line = self.text[..self.at.min(self.text.len())].matches('\n').count() + 1;
        Err(format!("damaged JSON at line {line}: expected {expected}"))
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() != Some(byte) {
            return self.wrong(&format!("`{}`", byte as char));
        }
        self.at += 1;
        Ok(())
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST { self.wrong("less nesting") } else { Ok(()) }
    }

    /// Calls back with each key; the callback must take the value.
    pub fn object(&mut self, each: &mut dyn FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        self.expect(b'{')?;
        self.deeper()?;
        if self.peek() != Some(b'}') {
            loop {
                self.space();
                let key = self.string()?;
                self.expect(b':')?;
                self.space();
                each(self, &key)?;
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
            }
        }
        self.depth -= 1;
        self.expect(b'}')
    }

    /// Calls back before each element; the callback must take it.
    pub fn array(&mut self, each: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        self.deeper()?;
        if self.peek() != Some(b']') {
            loop {
                self.space();
                each(self)?;
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
            }
        }
        self.depth -= 1;
        self.expect(b']')
    }

    pub fn value(&mut self) -> Result<Value> {
        if self.peek() == Some(b'"') {
            return self.string().map(Value::String);
        }
        self.skip().map(|()| Value::Other)
    }

    pub fn skip(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'{') => self.object(&mut |scanner, _| scanner.skip()),
            Some(b'[') => self.array(&mut Scanner::skip),
            Some(b'"') => self.skip_string(),
            Some(b'a'..=b'z' | b'0'..=b'9' | b'-' | b'N' | b'I') => {
                let rest = &self.text.as_bytes()[self.at..];
                self.at += rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)).count();
                Ok(())
            }
            _ => self.wrong("a value"),
        }
    }

    /// Pictures are long strings: they are passed over without being decoded.
    fn skip_string(&mut self) -> Result<()> {
        self.expect(b'"')?;
        loop {
            match memchr::memchr2(b'"', b'\\', &self.text.as_bytes()[self.at..]) {
                Some(next) if self.text.as_bytes()[self.at + next] == b'"' => {
                    self.at += next + 1;
                    return Ok(());
                }
                Some(next) if self.at + next + 2 <= self.text.len() => self.at += next + 2,
                _ => return self.wrong("the end of a string"),
            }
            while !self.text.is_char_boundary(self.at) {
                self.at += 1;
            }
        }
    }

    pub fn string(&mut self) -> Result<String> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(next) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) else {
                return self.wrong("the end of a string");
            };
            out.push_str(&rest[..next]);
            self.at += next + 1;
            if rest.as_bytes()[next] == b'"' {
                return Ok(out);
            }
            let escaped = self.escape()?;
            out.push(escaped);
        }
    }

    fn escape(&mut self) -> Result<char> {
        let Some(byte) = self.text.as_bytes().get(self.at).copied() else { return self.wrong("an escape") };
        self.at += 1;
        Ok(match byte {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => byte as char,
            b'u' => self.unicode()?,
            _ => return self.wrong("an escape"),
        })
    }

    fn unicode(&mut self) -> Result<char> {
        let high = self.hex()?;
        let code = match high {
            0xd800..=0xdbff if self.text[self.at..].starts_with("\\u") => {
                self.at += 2;
                let low = self.hex()?;
                0x10000 + ((high - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff)
            }
            code => code,
        };
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|d| u32::from_str_radix(d, 16).ok());
        match digits {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => self.wrong("four hexadecimal digits"),
        }
    }
}

/// Writes a string as Jupyter does: only what must be escaped is.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}
