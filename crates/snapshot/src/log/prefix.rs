//! What stands before the words of a line: a time, a rank, a host, a level, as launchers and collectors put it there.

/// Where to look for a time: further right it belongs to what the line says.
const WHERE_TIMES_ARE: usize = 96;

/// What a rank's lines begin with, times aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    raw: String,
    /// Without the time, which differs from line to line.
    timeless: String,
}

impl Prefix {
    pub fn new(raw: &str) -> Prefix {
        Prefix { raw: raw.to_owned(), timeless: split_time(raw).1 }
    }

    /// The rest of a line that begins the same way.
    pub fn strip(&self, line: &str) -> Option<String> {
        if self.raw.is_empty() {
            return (!is_labelled(line)).then(|| line.to_owned());
        }
        if let Some(rest) = line.strip_prefix(&self.raw) {
            return Some(rest.to_owned());
        }
        // `[rank0]:` alone is an empty line whose space an editor took.
        if line == self.raw.trim_end() {
            return Some(String::new());
        }
        split_time(line).1.strip_prefix(&self.timeless).filter(|_| self.timeless != self.raw).map(str::to_owned)
    }

    pub fn time(&self) -> Option<String> {
        split_time(&self.raw).0
    }

    /// The rank that the prefix names.
    pub fn rank(&self) -> Option<u32> {
        rank(&self.timeless)
    }
}

/// A line that torchrun says is some rank's.
fn is_labelled(line: &str) -> bool {
    line.starts_with("[rank") || line.starts_with("[default")
}

/// `[rank3]:`, `rank=3`, `[Rank 3]`, `[default3]:` (torchrun); `3:` (srun --label); `[1,3]<stderr>` (mpirun).
pub fn rank(prefix: &str) -> Option<u32> {
    let lower = prefix.to_ascii_lowercase();
    after_word(&lower, "rank")
        .or_else(|| after_word(&lower, "default"))
        .or_else(|| mpirun(&lower))
        .or_else(|| srun(&lower))
}

fn after_word(text: &str, word: &str) -> Option<u32> {
    text.match_indices(word).find_map(|(at, _)| {
        let rest = text[at + word.len()..].trim_start_matches([' ', '=', ':', '_', '-', '#', '"', '\'']);
        number(rest)
    })
}

fn mpirun(text: &str) -> Option<u32> {
    let rest = &text[text.find('[')? + 1..text.find("]<std")?.max(text.find('[')? + 1)];
    number(rest.split_once(',')?.1)
}

fn srun(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (text[digits..].starts_with(':')).then(|| number(text)).flatten()
}

fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// The time in a line, and the line without it.
pub fn split_time(line: &str) -> (Option<String>, String) {
    let Some((start, end)) = time(line) else {
        return (None, line.to_owned());
    };
    (Some(line[start..end].to_owned()), format!("{}{}", &line[..start], &line[end..]))
}

/// Where `12:34:56`, with the date before it and the fraction and zone after it, is in the line.
fn time(line: &str) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let shown = bytes.len().min(WHERE_TIMES_ARE);
    let clock = bytes[..shown].windows(8).position(is_clock)?;
    let start = date_before(&line[..clock]);
    let mut end = clock + 8;
    end += bytes[end..].iter().take_while(|byte| byte.is_ascii_digit() || b".,".contains(byte)).count();
    end += zone(&bytes[end..]);
    Some((start, end))
}

fn is_clock(text: &[u8]) -> bool {
    let digit = |index: usize| text[index].is_ascii_digit();
    text[2] == b':' && text[5] == b':' && [0, 1, 3, 4, 6, 7].into_iter().all(digit)
}

fn zone(rest: &[u8]) -> usize {
    match rest {
        [b'Z', ..] => 1,
        [b'+' | b'-', rest @ ..] => {
            1 + rest.iter().take(5).take_while(|byte| byte.is_ascii_digit() || **byte == b':').count()
        }
        _ => 0,
    }
}

/// `2026-11-15T`, `2026/11/15 `, `2026-11-15_` or `Nov 15 ` before a clock; where it begins.
fn date_before(before: &str) -> usize {
    let Some(date) = before.strip_suffix(['T', ' ', '_']) else {
        return before.len();
    };
    let is_date = |c: char| c.is_ascii_digit() || c == '-' || c == '/';
    let start = date.trim_end_matches(is_date).len();
    let digits = date.len() - start;
    if digits >= 8 {
        return start;
    }
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = date[..start].trim_end();
    let is_syslog = (1..=2).contains(&digits) && MONTHS.iter().any(|name| month.ends_with(name));
    if is_syslog { month.len() - 3 } else { before.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_many_loggers() {
        let cases = [
            ("2026-11-15 12:34:56,789 ERROR x", "2026-11-15 12:34:56,789", " ERROR x"),
            ("2026-11-15T12:34:56.789012345Z stderr F x", "2026-11-15T12:34:56.789012345Z", " stderr F x"),
            ("[2026-11-15 12:34:56+0200] x", "2026-11-15 12:34:56+0200", "[] x"),
            ("Nov  5 12:34:56 host python[7]: x", "Nov  5 12:34:56", " host python[7]: x"),
            ("[12:34:56] ERROR x", "12:34:56", "[] ERROR x"),
            ("2026-11-15_12:34:56", "2026-11-15_12:34:56", ""),
        ];
        for (line, expected, rest) in cases {
            assert_eq!(split_time(line), (Some(expected.into()), rest.into()), "{line}");
        }
        assert_eq!(split_time("[rank0]: x 1:2:3"), (None, "[rank0]: x 1:2:3".into()));
    }

    #[test]
    fn ranks_of_many_launchers() {
        let cases = [
            ("[rank3]: ", Some(3)),
            ("[default2]:[rank10]: ", Some(10)),
            ("[default2]:", Some(2)),
            (" 7: ", Some(7)),
            ("[1,5]<stderr>:", Some(5)),
            ("(RayTrainWorker pid=4242, rank=6) ", Some(6)),
            ("[Rank 4] ERROR ", Some(4)),
            ("{\"rank\": 9, \"msg\": \"", Some(9)),
            ("ERROR ", None),
            ("frank: ", None),
            ("host:123:456 [0] ", None),
        ];
        for (prefix, expected) in cases {
            assert_eq!(rank(prefix), expected, "{prefix}");
        }
    }

    #[test]
    fn a_prefix_matches_whatever_the_time() {
        let prefix = Prefix::new("2026-11-15T12:34:56.7Z stderr F ");
        assert_eq!(prefix.strip("2026-11-15T12:34:57.9Z stderr F   File"), Some("  File".into()));
        assert_eq!(prefix.strip("2026-11-15T12:34:57.9Z stdout F   File"), None);
        assert_eq!(Prefix::new("").strip("[rank1]: x"), None);
        assert_eq!(Prefix::new("[rank0]: ").strip("[rank0]:"), Some(String::new()));
    }
}
