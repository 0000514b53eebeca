//! One hit: which line it is, what the message says, and what led to it.

use memchr::{memchr, memrchr};
use trace::Crash;

use super::frames::{self, Led};
use super::{clean, join, prefix};

/// A piece of log, and where in it an anchor was found.
pub struct Around<'a> {
    pub text: &'a [u8],
    pub at: usize,
}

pub struct Hit {
    /// Usually one; a line of structured log may hold several.
    pub crashes: Vec<Crash>,
    pub line_start: usize,
    pub line_end: usize,
    /// Bytes that were taken apart.
    pub looked_at: usize,
}

/// How much after a line may belong to its message, wrapped.
const WRAPPED: usize = 12 << 10;
/// A terminal of 40 columns wraps the longest real messages into fewer lines.
const MOST_WRAPPED: usize = 64;
/// A line without end is looked at in pieces.
const LONGEST_LINE: usize = 64 << 10;
/// How far to look back for a traceback: most are near, and eight ranks may write theirs at once.
const LOOKS_BACK: [usize; 3] = [8 << 10, 64 << 10, usize::MAX];

impl Hit {
    /// Empty `crashes` when the line's words were about something else.
    pub fn of(around: &Around) -> Hit {
        let text = around.text;
        let shortest = around.at.saturating_sub(LONGEST_LINE);
        let line_start = memrchr(b'\n', &text[shortest..around.at]).map_or(shortest, |at| shortest + at + 1);
        let line_end = memchr(b'\n', &text[around.at..]).map_or(text.len(), |at| around.at + at);
        let own = clean::lines(&text[line_start..line_end]);
        let wrapped = text.len().min(line_end + WRAPPED);
        let mut hit = Hit { crashes: Vec::new(), line_start, line_end, looked_at: wrapped - line_start };
        for (index, found) in found(&own, &clean::lines(&text[line_end..wrapped])) {
            let (led, looked_at) = led_to(&text[..line_start], &own[..index], &found);
            hit.looked_at += looked_at;
            hit.crashes.push(crash(found, led, &keys(&own)));
        }
        hit
    }
}

/// The messages of a line, each with the part of the line it begins in.
fn found(own: &[String], after: &[String]) -> Vec<(usize, join::Found)> {
    (0..own.len())
        .filter(|&index| join::may_begin(&own[index]))
        .filter_map(|index| {
            let following = own[index + 1..].iter().chain(after).take(MOST_WRAPPED);
            let following: Vec<&str> = following.map(String::as_str).collect();
            Some((index, join::message(&own[index], &following)?))
        })
        .collect()
}

/// The traceback, looking further back only if it begins before what was looked at; and how much that was.
fn led_to(text: &[u8], own: &[String], found: &join::Found) -> (Led, usize) {
    let mut looked_at = 0;
    let mut last = Led::default();
    for back in LOOKS_BACK {
        let start = text.len().saturating_sub(back);
        looked_at += text.len() - start;
        let before = clean::lines(&text[start..]);
        let before: Vec<&str> = before.iter().chain(own).map(String::as_str).collect();
        last = frames::before(&before, &found.prefix, found.message.refuser);
        if last.complete || start == 0 {
            break;
        }
    }
    (last, looked_at)
}

/// What surrounds text inside structured text: its keys, before and after the value that spans lines.
fn keys(own: &[String]) -> [&str; 2] {
    const SHOWN: usize = 240;
    let [first, .., last] = own else {
        return [""; 2];
    };
    let tail = last.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
    [first, &last[tail..]]
}

fn crash(found: join::Found, led: Led, keys: &[&str; 2]) -> Crash {
    let header = led.header.as_deref().unwrap_or_default();
    let rank = found.prefix.rank().or_else(|| keys.iter().find_map(|text| prefix::rank(text)));
    let in_keys = || keys.iter().find_map(|text| prefix::split_time(text).0);
    let time = found.prefix.time().or_else(|| prefix::split_time(header).0).or_else(in_keys);
    Crash { message: found.message, traceback: led.lines, rank, time, ..Crash::default() }
}
