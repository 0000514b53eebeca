//! Takes a piece of log apart into plain lines: no colours, no escapes, no carriage returns.

/// Lines of a piece of log. Bytes that are not UTF-8 become `\u{fffd}`; escaped text becomes the lines it stands for.
pub fn lines(piece: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(piece);
    let text = without_colours(&text);
    text.split(['\n', '\r']).flat_map(|line| unescaped(line).lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Without `ESC [ … m` and its relatives, and without window titles.
fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = after_escape(&rest[at + 1..]);
    }
    out.push_str(rest);
    out
}

fn after_escape(text: &str) -> &str {
    let is_final = |c: char| ('@'..='~').contains(&c);
    match text.chars().next() {
        Some('[') => text[1..].find(is_final).map_or("", |at| &text[1 + at + 1..]),
        Some(']') => text.find('\u{7}').map_or("", |at| &text[at + 1..]),
        Some(other) => &text[other.len_utf8()..],
        None => text,
    }
}

/// Text inside JSON, a line of a notebook or of a structured log; log collectors nest it up to this often.
const DEEPEST: usize = 3;

fn unescaped(line: &str) -> String {
    let mut text = line.to_owned();
    for _ in 0..DEEPEST {
        if !is_escaped(&text) {
            break;
        }
        text = without_colours(&unescape(&text));
    }
    text
}

/// A path such as `C:\new` is no escape: quotes tell.
fn is_escaped(line: &str) -> bool {
    let quoted = line.contains('"') && (line.contains("\\n") || line.contains("\\u"));
    quoted && (line.contains("\\\"") || line.trim_start().starts_with(['"', '{', '\'']))
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let kind = after.chars().next();
        rest = &after[kind.map_or(0, char::len_utf8)..];
        match kind {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('u') => rest = unicode(&mut out, rest),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out.push_str(rest);
    out
}

/// The four digits after `\u`. Halves of a pair become `\u{fffd}`: no word that we look for has them.
fn unicode<'a>(out: &mut String, rest: &'a str) -> &'a str {
    let digits = rest.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let Some(digits) = digits else {
        out.push_str("\\u");
        return rest;
    };
    let code = u32::from_str_radix(digits, 16).expect("four hexadecimal digits");
    out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
    &rest[4..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_titles_go() {
        assert_eq!(lines(b"\x1b[1;31mError\x1b[0m: x\n\x1b]0;title\x07y"), ["Error: x", "y"]);
        assert_eq!(lines(b"\x1b[31"), [""; 0]);
    }

    #[test]
    fn a_progress_bar_is_many_lines() {
        assert_eq!(lines(b" 10%|#  |\r 20%|## |\nError"), [" 10%|#  |", " 20%|## |", "Error"]);
    }

    #[test]
    fn escaped_text_is_the_lines_it_stands_for() {
        let line = br#"{"log": "Traceback:\n  File \"a.py\", line 3\nX: CUDA", "pid": 3}"#;
        assert_eq!(lines(line), ["{\"log\": \"Traceback:", "  File \"a.py\", line 3", "X: CUDA\", \"pid\": 3}"]);
        let notebook = br#"  "\u001b[0;31mOutOfMemoryError\u001b[0m: GPU \u0000 has","#;
        assert_eq!(lines(notebook), ["  \"OutOfMemoryError: GPU \0 has\","]);
        let nested = br#"{"a": "{\"b\": \"x\\ny \\\"q\\\"\"}"}"#;
        assert_eq!(lines(nested).len(), 2);
    }

    #[test]
    fn paths_are_not_escapes() {
        assert_eq!(lines(br#"  File "C:\new\user.py", line 1"#), [r#"  File "C:\new\user.py", line 1"#]);
    }
}
