//! Tracebacks as IPython and Rich draw them: the line's number stands beside its code, behind an arrow.

use trace::CodeLine;

use super::{HEADER, Led};

/// A drawn frame shows several lines of code, and there may be sixty frames.
const MOST_LINES: usize = 1500;

pub fn before(before: &[&str]) -> Led {
    let mut led = Led::default();
    let mut arrow: Option<(u32, String)> = None;
    for line in before.iter().rev().take(MOST_LINES) {
        if line.contains(HEADER) {
            led.header = Some((*line).to_owned());
            led.complete = true;
            break;
        }
        let text = line.trim_matches([' ', '\t', '"', ',', '│', '|']);
        if let Some(found) = pointed_at(text) {
            arrow = Some(found);
        } else if let Some(frame) = frame(text, arrow.as_ref()) {
            led.lines.push(frame);
            arrow = None;
        }
    }
    // Without the header these were lines of something else.
    if led.header.is_none() {
        return Led::default();
    }
    led.lines.reverse();
    led
}

/// `----> 5 out = model(x)` or `❱ 88 │   out = model(x)`: the number and the code.
fn pointed_at(text: &str) -> Option<(u32, String)> {
    let rest = text.strip_prefix('❱').or_else(|| {
        let shaft = text.bytes().take_while(|&byte| byte == b'-').count();
        (shaft >= 2).then(|| text[shaft..].strip_prefix('>')).flatten()
    })?;
    let rest = rest.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..digits].parse().ok()?;
    Some((number, rest[digits..].trim_matches([' ', '│', '\t']).to_owned()))
}

fn frame(text: &str, arrow: Option<&(u32, String)>) -> Option<CodeLine> {
    let (file, line, function) = cell(text).or_else(|| with_line(text)).or_else(|| without_line(text, arrow))?;
    let code = arrow.filter(|(number, _)| *number == line).map(|(_, code)| code.clone());
    Some(CodeLine { file, line, function, code })
}

type Place = (String, u32, String);

/// `Cell In[3], line 5`
fn cell(text: &str) -> Option<Place> {
    let rest = text.strip_prefix("Cell ").or_else(|| text.strip_prefix("Input "))?;
    let (name, rest) = rest.split_once(", line ")?;
    name.starts_with("In").then_some(())?;
    Some((name.replace(' ', ""), leading_number(rest)?, "<module>".into()))
}

/// `File ~/train.py:88, in step(self, batch)`, or Rich's `/home/ada/train.py:88 in step`
fn with_line(text: &str) -> Option<Place> {
    let text = text.strip_prefix("File ").unwrap_or(text);
    let (file, rest) = text.split_once(".py:")?;
    let line = leading_number(rest)?;
    let (after, function) = rest.split_once(" in ")?;
    let is_bare = after.trim_end_matches(',').bytes().all(|byte| byte.is_ascii_digit());
    (is_bare && !file.contains("  ")).then(|| (format!("{file}.py"), line, name(function)))
}

/// IPython 7: `~/train.py in step(self, batch)`, the number only at the arrow
fn without_line(text: &str, arrow: Option<&(u32, String)>) -> Option<Place> {
    let (file, function) = text.split_once(" in ")?;
    let is_file = file.ends_with(".py") || file.starts_with("<ipython-input-");
    (is_file && !file.contains(' ')).then_some(())?;
    Some((file.to_owned(), arrow?.0, name(function)))
}

fn name(function: &str) -> String {
    function.split('(').next().unwrap_or_default().trim().to_owned()
}

fn leading_number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}
