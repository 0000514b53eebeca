//! The traceback before a message: Python's own, or drawn by IPython and Rich.

mod drawn;

use trace::{CodeLine, Refuser};

use super::prefix::Prefix;

const HEADER: &str = "Traceback (most recent call last)";
/// Lines of other ranks that may stand between two of ours.
const MOST_OTHERS: usize = 4096;

#[derive(Debug, Default)]
pub struct Led {
    /// Outermost first.
    pub lines: Vec<CodeLine>,
    /// The line that introduced them, or the one before it: loggers put the time there.
    pub header: Option<String>,
    /// Looking further back would find no more.
    pub complete: bool,
}

/// What led to the message below `before`, in lines that begin with `prefix`.
pub fn before(before: &[&str], prefix: &Prefix, refuser: Refuser) -> Led {
    let printed = printed(before, prefix, refuser);
    if !printed.lines.is_empty() {
        return printed;
    }
    let drawn = drawn::before(before);
    if drawn.lines.is_empty() { printed } else { drawn }
}

fn printed(before: &[&str], prefix: &Prefix, refuser: Refuser) -> Led {
    // NCCL's error has a few lines of its own between the traceback and the words that matter.
    let mut own_lines_left = if refuser == Refuser::Nccl { 6 } else { 0 };
    let mut others = 0;
    let mut led = Led::default();
    let mut code = None;
    for (index, line) in before.iter().enumerate().rev() {
        let Some(rest) = prefix.strip(line) else {
            others += 1;
            if others > MOST_OTHERS {
                led.complete = true;
                break;
            }
            continue;
        };
        if rest.contains(HEADER) {
            led.header = Some(header(before, index));
            led.complete = true;
            break;
        }
        match kind(&rest) {
            Kind::Frame(frame) => led.lines.push(CodeLine { code: code.take(), ..frame }),
            Kind::Code(text) => code = Some(text),
            Kind::Decoration => {}
            Kind::Other if own_lines_left > 0 && led.lines.is_empty() => own_lines_left -= 1,
            Kind::Other => {
                led.complete = true;
                break;
            }
        }
    }
    led.lines.reverse();
    led
}

/// The header's own line if a collector put a time there, else the line above it.
fn header(before: &[&str], index: usize) -> String {
    let above = index.checked_sub(1).map_or("", |above| before[above]);
    format!("{} {above}", before[index])
}

enum Kind {
    Frame(CodeLine),
    Code(String),
    /// Blank, carets, `[Previous line repeated 3 more times]`.
    Decoration,
    /// Not indented, so no part of a traceback.
    Other,
}

fn kind(line: &str) -> Kind {
    let text = line.trim();
    if text.chars().all(|c| "^~ |".contains(c)) || text.starts_with("[Previous line repeated") {
        return Kind::Decoration;
    }
    if let Some(frame) = frame(text) {
        return Kind::Frame(frame);
    }
    if line.starts_with([' ', '\t']) { Kind::Code(text.to_owned()) } else { Kind::Other }
}

/// `File "train.py", line 88, in step`
fn frame(text: &str) -> Option<CodeLine> {
    let (file, rest) = text.strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, function) = rest.split_once(", in ").unwrap_or((rest, ""));
    let line = number.trim().parse().ok()?;
    Some(CodeLine { file: file.to_owned(), line, function: function.trim().to_owned(), code: None })
}
