//! Signs that a line which does not parse is Python 2: one word about that helps more than the parser's.

/// What on this line only Python 2 understands. `at` is the text that the parser did not understand.
pub fn sign(line: &str, at: &str) -> Option<&'static str> {
    let code = line.trim_start();
    match () {
        () if is_statement(code, "print") => Some("`print` without brackets"),
        () if is_statement(code, "exec") => Some("`exec` without brackets"),
        () if code.starts_with("raise ") && code.contains(", ") => Some("`raise` with a comma"),
        () if code.starts_with("except ") && code.contains(", ") => Some("`except` with a comma"),
        () if code.contains("<>") => Some("`<>`"),
        () if code.contains('`') => Some("backquotes"),
        () if is_number(at) && at.starts_with('0') => Some("a number that begins with 0"),
        () if matches!(at, "L" | "l") && has_long_number(code) => Some("a number that ends in L"),
        () if code.contains("ur'") || code.contains("ur\"") => Some("a string that begins with ur"),
        () if code.starts_with("def ") && code.contains("(") && unpacks(code) => Some("a parameter in brackets"),
        () => None,
    }
}

/// `print x`, and not `print(x)`, `print = x` or `print.x`.
fn is_statement(code: &str, word: &str) -> bool {
    let Some(rest) = code.strip_prefix(word) else { return false };
    let after = rest.trim_start();
    rest.starts_with([' ', '"', '\'', '`'])
        && !after.is_empty()
        && !after.starts_with(['(', '=', '.', ',', ':', '#', '['])
}

fn is_number(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_long_number(code: &str) -> bool {
    code.as_bytes().windows(2).any(|pair| pair[0].is_ascii_digit() && matches!(pair[1], b'L' | b'l'))
}

/// `def f(a, (b, c)):`
fn unpacks(code: &str) -> bool {
    code.contains("((") || code.contains(", (")
}

#[cfg(test)]
mod tests {
    use super::sign;

    #[test]
    fn signs_of_python_2() {
        for (line, at) in [
            ("    print 'x', 1", "'x'"),
            ("print \"x\" % y", "\"x\""),
            ("exec code in space", "code"),
            ("raise ValueError, 'x'", "ValueError, 'x'"),
            ("except ValueError, e:", ","),
            ("if a <> b:", ">"),
            ("x = `y`", "`"),
            ("os.chmod(p, 0777)", "0777"),
            ("x = 10L", "L"),
            ("x = ur'a'", "'a'"),
            ("def f(a, (b, c)):", "("),
        ] {
            assert!(sign(line, at).is_some(), "{line}");
        }
    }

    #[test]
    fn mistakes_in_python_3_are_none() {
        for (line, at) in [
            ("print(x", "("),
            ("print = (", "("),
            ("def f(:", ":"),
            ("raise ValueError('x'", "("),
            ("x = 08.", "08."),
            ("executor x", "x"),
        ] {
            assert_eq!(sign(line, at), None, "{line}");
        }
    }
}
