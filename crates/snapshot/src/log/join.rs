//! Puts a message together again that was wrapped over several lines.

use trace::{OomMessage, Refuser};

use super::prefix::Prefix;
use crate::message;

pub struct Found {
    pub message: OomMessage,
    /// What stands before the exception's name.
    pub prefix: Prefix,
}

/// A line made of beginnings has no message.
const MOST_STARTS: usize = 16;

/// The message that begins in `line`, with what it needs of the lines that follow.
pub fn message(line: &str, following: &[&str]) -> Option<Found> {
    let line = without_source_column(line);
    starts(line).into_iter().find_map(|start| beginning_at(line, start, following))
}

/// Whether it is worth putting the following lines together.
pub fn may_begin(line: &str) -> bool {
    !starts(line).is_empty()
}

fn beginning_at(line: &str, start: usize, following: &[&str]) -> Option<Found> {
    let (end, named) = match exception_before(line, start) {
        Some(token) => (token, true),
        None => (start, false),
    };
    let prefix = Prefix::new(&line[..end]);
    let message = best(&candidates(&line[start..], following, &prefix))?;
    let sure = named || message.refuser != Refuser::Allocator || numbers(&message) > 0;
    // A sentence about running out of memory is not an error, a line that calls itself one is.
    let called = || line[..start].to_ascii_lowercase().contains("error");
    (sure || called()).then_some(Found { message, prefix })
}

/// Where a message may begin: at its first words, or after the exception's name if those are cut in two.
fn starts(line: &str) -> Vec<usize> {
    let words = message::BEGINNINGS.iter().flat_map(|words| line.match_indices(words)).map(|(at, _)| at);
    let mut starts: Vec<usize> = words.collect();
    const NAME: &str = "OutOfMemoryError:";
    starts.extend(line.match_indices(NAME).map(|(at, _)| at + NAME.len()));
    starts.sort_unstable();
    starts.truncate(MOST_STARTS);
    starts
}

/// Where `torch.OutOfMemoryError` begins, if that or another exception stands right before.
fn exception_before(line: &str, start: usize) -> Option<usize> {
    let before = line[..start].trim_end().strip_suffix(':')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let token = before.trim_end_matches(is_name).len();
    let name = &before[token..];
    (name.contains("Error") || name.contains("Exception")).then_some(token)
}

/// How the text may go on: with lines that begin alike, with whatever comes, or cut in the middle of a word.
fn candidates(tail: &str, following: &[&str], prefix: &Prefix) -> [String; 3] {
    let alike = following.iter().filter_map(|line| prefix.strip(without_source_column(line)));
    let mut with_alike = tail.to_owned();
    for line in alike {
        add(&mut with_alike, " ", &line);
    }
    let (mut spaced, mut cut) = (tail.to_owned(), tail.to_owned());
    for line in following {
        add(&mut spaced, " ", without_source_column(line));
        add(&mut cut, "", line);
    }
    [with_alike, spaced, cut]
}

fn add(text: &mut String, between: &str, line: &str) {
    if text.len() < message::LONGEST {
        text.push_str(between);
        text.push_str(line);
    }
}

/// The reading that found the most; the first of equals.
fn best(candidates: &[String]) -> Option<OomMessage> {
    let read = candidates.iter().filter_map(|text| message::parse(text));
    read.reduce(|best, next| if numbers(&next) > numbers(&best) { next } else { best })
}

fn numbers(message: &OomMessage) -> usize {
    let one = [
        message.requested,
        message.total,
        message.free,
        message.own,
        message.allowed,
        message.allocated,
        message.private_pools,
        message.unallocated,
        message.reserved_in_total,
    ];
    one.iter().flatten().count() + message.processes.len()
}

/// Rich's logger writes `train.py:88` at the right edge of a line.
fn without_source_column(line: &str) -> &str {
    let text = line.trim_end();
    let Some(gap) = text.rfind("  ") else {
        return line;
    };
    let is_place = text[gap + 2..]
        .rsplit_once(".py:")
        .is_some_and(|(file, number)| !file.contains(' ') && number.bytes().all(|byte| byte.is_ascii_digit()));
    if is_place { text[..gap].trim_end() } else { line }
}
