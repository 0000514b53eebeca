//! What a person types to find memory: `attention size>100MiB phase:forward`.
//!
//! Terms are separated by spaces and must all hold; a `-` before a term turns it round. A plain word is looked for in
//! functions, files, modules and categories, upper and lower case alike.
//!
//! | term | holds for allocations |
//! |---|---|
//! | `size>1GiB`, `size<64K`, `size=512` | of that block size (also `>=`, `<=`) |
//! | `function:forward`, `file:train.py`, `module:attn`, `category:activation` | with that in just that place |
//! | `phase:backward`, `step:3` | made then |
//! | `alive` | not freed by the end of the recording |
//! | `0x7f52c2000000` | whose memory covers that address |

use trace::{AllocationId, FrameId, Phase, StackId};
use units::Bytes;

use crate::lives::event_before;
use crate::series::Series;

#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq)]
struct Term {
    inverted: bool,
    test: Test,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Anywhere(String),
    Function(String),
    File(String),
    Module(String),
    Category(String),
    Phase(String),
    Step(u32),
    Size(Comparison, u64),
    Address(u64),
    Alive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Search {
    /// Everything that can be typed means something: a term that is no filter is a word to look for.
    pub fn read(text: &str) -> Search {
        Search { terms: text.split_whitespace().map(Term::read).collect() }
    }

    /// Which allocations it holds for.
    pub fn select(&self, series: &Series) -> Vec<bool> {
        let mut selected = vec![true; series.lives.len()];
        for term in &self.terms {
            let holds = term.test.prepared(series);
            for (at, selected) in selected.iter_mut().enumerate() {
                *selected &= holds(at) != term.inverted;
            }
        }
        selected
    }
}

impl Term {
    fn read(text: &str) -> Term {
        match text.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            Some(rest) => Term { inverted: true, test: Test::read(rest) },
            None => Term { inverted: false, test: Test::read(text) },
        }
    }
}

impl Test {
    fn read(text: &str) -> Test {
        let text = text.to_lowercase();
        if text == "alive" {
            return Test::Alive;
        }
        size(&text).or_else(|| address(&text)).or_else(|| in_one_place(&text)).unwrap_or(Test::Anywhere(text))
    }

    /// Looks at names and stacks once, so that each allocation is a lookup.
    fn prepared<'a>(&'a self, series: &'a Series) -> Box<dyn Fn(usize) -> bool + 'a> {
        let lives = &series.lives;
        match self {
            Test::Anywhere(word) => {
                let frames = in_stacks(series, word, true, true);
                let modules = in_names(series, word);
                Box::new(move |at| {
                    frames[stack(series, at).index()]
                        || modules[module(series, at)]
                        || category(series, at).contains(word.as_str())
                })
            }
            Test::Function(word) => {
                let frames = in_stacks(series, word, true, false);
                Box::new(move |at| frames[stack(series, at).index()])
            }
            Test::File(word) => {
                let frames = in_stacks(series, word, false, true);
                Box::new(move |at| frames[stack(series, at).index()])
            }
            Test::Module(word) => {
                let modules = in_names(series, word);
                Box::new(move |at| modules[module(series, at)])
            }
            Test::Category(word) => Box::new(move |at| category(series, at).starts_with(word.as_str())),
            Test::Phase(word) => {
                Box::new(move |at| phase(series, at).is_some_and(|phase| phase.word().starts_with(word.as_str())))
            }
            Test::Step(number) => {
                Box::new(move |at| series.step_at(lives.born[at]).is_some_and(|step| step.number == *number))
            }
            Test::Size(comparison, bytes) => Box::new(move |at| comparison.holds(lives.bytes[at], *bytes)),
            Test::Address(address) => Box::new(move |at| {
                let start = series.history().allocations().address(AllocationId::from_index(at));
                (start..start.saturating_add(lives.bytes[at])).contains(address)
            }),
            Test::Alive => Box::new(move |at| lives.died[at] == lives.moments),
        }
    }
}

impl Comparison {
    fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Comparison::Above => left > right,
            Comparison::AtLeast => left >= right,
            Comparison::Below => left < right,
            Comparison::AtMost => left <= right,
            Comparison::Equal => left == right,
        }
    }
}

fn size(text: &str) -> Option<Test> {
    let rest = text.strip_prefix("size")?;
    let signs = [
        (">=", Comparison::AtLeast),
        ("<=", Comparison::AtMost),
        (">", Comparison::Above),
        ("<", Comparison::Below),
        ("=", Comparison::Equal),
    ];
    let (bytes, comparison) = signs.iter().find_map(|&(sign, it)| Some((rest.strip_prefix(sign)?, it)))?;
    bytes.parse::<Bytes>().ok().map(|bytes| Test::Size(comparison, bytes.0))
}

fn address(text: &str) -> Option<Test> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(Test::Address)
}

fn in_one_place(text: &str) -> Option<Test> {
    let (place, word) = text.split_once(':')?;
    let word = word.to_owned();
    Some(match place {
        "function" => Test::Function(word),
        "file" => Test::File(word),
        "module" => Test::Module(word),
        "category" => Test::Category(word),
        "phase" => Test::Phase(word),
        "step" => Test::Step(word.parse().ok()?),
        _ => return None,
    })
}

/// Which names of the recording contain the word.
fn in_names(series: &Series, word: &str) -> Vec<bool> {
    let names = &series.recording().names;
    let all = (0..names.len()).map(|at| names.get(trace::NameId::from_index(at)));
    all.map(|name| name.to_lowercase().contains(word)).collect()
}

/// Which stacks have a frame with the word in its function or file.
fn in_stacks(series: &Series, word: &str, functions: bool, files: bool) -> Vec<bool> {
    let recording = series.recording();
    let names = in_names(series, word);
    let frames: Vec<bool> = (0..recording.frames.len())
        .map(|at| recording.frames.get(FrameId::from_index(at)))
        .map(|frame| functions && names[frame.function.index()] || files && names[frame.file.index()])
        .collect();
    let stacks = (0..recording.stacks.len()).map(|at| recording.stacks.get(StackId::from_index(at)));
    stacks.map(|stack| stack.iter().any(|frame| frames[frame.index()])).collect()
}

fn stack(series: &Series, at: usize) -> StackId {
    series.history().allocations().stack(AllocationId::from_index(at))
}

/// As an index into names. The empty name contains no word.
fn module(series: &Series, at: usize) -> usize {
    series.history().purposes().get(AllocationId::from_index(at)).module.index()
}

fn category(series: &Series, at: usize) -> &'static str {
    series.history().purposes().get(AllocationId::from_index(at)).category.word()
}

/// The phase in which it was made.
fn phase(series: &Series, at: usize) -> Option<Phase> {
    let event = event_before(series.lives.born[at])?;
    series.phases().get(event.index()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str) -> Test {
        Test::read(text)
    }

    #[test]
    fn reads_what_people_type() {
        assert_eq!(test("size>1GiB"), Test::Size(Comparison::Above, 1 << 30));
        assert_eq!(test("SIZE<=64K"), Test::Size(Comparison::AtMost, 64 << 10));
        assert_eq!(test("module:Attn"), Test::Module("attn".into()));
        assert_eq!(test("step:12"), Test::Step(12));
        assert_eq!(test("0x7f00"), Test::Address(0x7f00));
        assert_eq!(test("alive"), Test::Alive);
    }

    #[test]
    fn what_is_no_filter_is_a_word() {
        assert_eq!(test("size>many"), Test::Anywhere("size>many".into()));
        assert_eq!(test("std::vector"), Test::Anywhere("std::vector".into()));
        assert_eq!(test("step:last"), Test::Anywhere("step:last".into()));
        assert_eq!(test("-"), Test::Anywhere("-".into()));
    }

    #[test]
    fn a_minus_turns_a_term_round() {
        let search = Search::read("attn -size<1M");
        assert_eq!(search.terms[1], Term { inverted: true, test: Test::Size(Comparison::Below, 1 << 20) });
    }
}
