//! The text format: one screen, readable without colour, the answer in the first line.

use std::fmt::Write;
use std::time::Duration;

use units::{Bytes, Elapsed};

use super::{Basis, Ended, Location, Oom, Peak, Rank, Step, Try, Unknown, Verdict, Warning};

/// How many rows of the step table are shown before the middle is left out.
const STEPS_SHOWN: usize = 5;
const SAVED_SHOWN: usize = 5;
const WARNINGS_SHOWN: usize = 8;

/// The try as text, with a newline at its end.
pub fn text(tried: &Try) -> String {
    let sections = [
        headline(tried),
        tried.oom.as_ref().map(|oom| oom_section(tried, oom)).unwrap_or_default(),
        tried.mistakes.section(|file| from_here(tried, file).to_owned()),
        tried.peak.as_ref().map(peak_section).unwrap_or_default(),
        steps_section(&tried.steps),
        ranks_section(&tried.ranks),
        saved_section(tried),
        warnings_section(tried),
        footer(tried),
    ];
    let mut out = String::new();
    for section in sections.iter().filter(|section| !section.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(section);
    }
    out
}

fn headline(tried: &Try) -> String {
    let card = format!("{} ({})", tried.gpu.name, Bytes(tried.gpu.memory_bytes));
    match &tried.verdict {
        Verdict::Fits => format!("Fits on {card}{}\n", room(tried)),
        Verdict::DoesNotFit => format!("Does not fit on {card}{}\n", place(tried.oom.as_ref())),
        Verdict::Unknown(why) => format!("Could not tell for {card}: {}\n", unknown(why)),
    }
}

/// `: peak 17.8 GiB, 5.7 GiB free`, as nvidia-smi would show it.
fn room(tried: &Try) -> String {
    let Some(device) = tried.peak.and_then(|peak| peak.device_bytes) else {
        return String::new();
    };
    let free = Bytes(tried.gpu.memory_bytes.saturating_sub(device));
    format!(": peak {}, {free} free", Bytes(device))
}

fn place(oom: Option<&Oom>) -> String {
    let Some(oom) = oom else {
        return String::new();
    };
    if oom.step == 0 {
        return format!(": out of memory before the first step, {}", oom.phase.name());
    }
    format!(": out of memory in step {}, {}", oom.step, oom.phase.name())
}

fn unknown(why: &Unknown) -> String {
    match &why.hint {
        Some(hint) => format!("{}\nhint: {hint}", why.message),
        None => why.message.clone(),
    }
}

fn oom_section(tried: &Try, oom: &Oom) -> String {
    let mut out = String::new();
    if let Some(location) = &oom.location {
        let _ = writeln!(out, "  at      {}", line_of_code(tried, location));
    }
    if let Some(requested) = oom.requested_bytes {
        let _ = writeln!(out, "  wanted  {} more", Bytes(requested));
    }
    let _ = writeln!(out, "  torch   {}", first_sentences(&oom.message));
    out
}

fn line_of_code(tried: &Try, location: &Location) -> String {
    let file = from_here(tried, &location.file);
    match &location.code {
        Some(code) => format!("{file}:{}  {}", location.line, code.trim()),
        None => format!("{file}:{}", location.line),
    }
}

/// A path as the person who typed the command would write it.
fn from_here<'a>(tried: &Try, path: &'a str) -> &'a str {
    let below = tried.directory.as_deref().and_then(|directory| path.strip_prefix(directory));
    below.and_then(|path| path.strip_prefix('/')).unwrap_or(path)
}

/// PyTorch's message ends in advice and links; the numbers come before them.
fn first_sentences(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    let end = line.find(" If reserved but unallocated").unwrap_or(line.len());
    line[..end].trim_end()
}

fn peak_section(peak: &Peak) -> String {
    let mut out = String::from("Peak\n");
    let mut row = |name: &str, bytes: Option<u64>, what: &str| {
        if let Some(bytes) = bytes {
            let _ = writeln!(out, "  {name:<10}{:>10}  {what}", Bytes(bytes));
        }
    };
    row("allocated", Some(peak.allocated_bytes), "held by tensors");
    row("reserved", Some(peak.reserved_bytes), "taken by PyTorch's allocator");
    row("device", peak.device_bytes, "what nvidia-smi would show: reserved, context and libraries");
    out
}

fn steps_section(steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let mut out = format!("{:>6}{:>13}{:>13}{:>15}\n", "Step", "allocated", "peak", "peak reserved");
    for (index, step) in steps.iter().enumerate() {
        match shown(index, steps.len()) {
            Row::Shown => out.push_str(&step_row(step)),
            Row::FirstHidden => out.push_str("     …\n"),
            Row::Hidden => {}
        }
    }
    out
}

fn step_row(step: &Step) -> String {
    let allocated = Bytes(step.allocated_bytes);
    let peak = Bytes(step.peak_allocated_bytes);
    let reserved = Bytes(step.peak_reserved_bytes);
    format!("{:>6}{allocated:>13}{peak:>13}{reserved:>15}\n", step.step)
}

enum Row {
    Shown,
    FirstHidden,
    Hidden,
}

/// All rows of a short table; the first three and the last of a long one.
fn shown(index: usize, len: usize) -> Row {
    if len <= STEPS_SHOWN || index < STEPS_SHOWN - 2 || index == len - 1 {
        return Row::Shown;
    }
    if index == STEPS_SHOWN - 2 { Row::FirstHidden } else { Row::Hidden }
}

fn ranks_section(ranks: &[Rank]) -> String {
    if ranks.len() < 2 {
        return String::new();
    }
    let mut out = String::from("Processes\n");
    for rank in ranks {
        let name = match rank.rank {
            Some(rank) => format!("rank {rank}"),
            None => format!("pid {}", rank.pid),
        };
        let peak = match rank.peak {
            Some(peak) => {
                format!("peak {} allocated, {} reserved", Bytes(peak.allocated_bytes), Bytes(peak.reserved_bytes))
            }
            None => "peak not seen".into(),
        };
        let _ = writeln!(out, "  {name:<10}{peak}, {}", ended(rank.ended, rank.steps));
    }
    out
}

fn saved_section(tried: &Try) -> String {
    let mut out = String::new();
    if !tried.saved.is_empty() {
        out.push_str("Saves\n");
    }
    for saved in tried.saved.iter().take(SAVED_SHOWN) {
        let _ = writeln!(out, "  {:>10}  {}  ({})", Bytes(saved.bytes), from_here(tried, &saved.path), saved.what);
    }
    if let Some(hidden) = tried.saved.len().checked_sub(SAVED_SHOWN).filter(|&n| n > 0) {
        let _ = writeln!(out, "  … and {hidden} more");
    }
    if let Some(path) = &tried.snapshot {
        let _ = writeln!(out, "Memory snapshot in {path}");
        if tried.fits() == Some(false) {
            let _ = writeln!(out, "hint: `oomph explain {}` says who held the memory, and why", from_here(tried, path));
        }
    }
    out
}

fn warnings_section(tried: &Try) -> String {
    let mut out = String::new();
    for warning in tried.warnings.iter().take(WARNINGS_SHOWN) {
        let _ = writeln!(out, "warning: {}{}", warning.message, place_of(tried, warning));
    }
    if let Some(hidden) = tried.warnings.len().checked_sub(WARNINGS_SHOWN).filter(|&n| n > 0) {
        let _ = writeln!(out, "… and {hidden} more warnings, all in --json");
    }
    out
}

fn place_of(tried: &Try, warning: &Warning) -> String {
    let file = warning.file.as_deref().map(|file| from_here(tried, file));
    match (file, warning.line) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        _ => String::new(),
    }
}

fn footer(tried: &Try) -> String {
    let versions = [("torch", &tried.torch), ("CUDA", &tried.cuda), ("cuDNN", &tried.cudnn)];
    let mut parts: Vec<String> = versions
        .iter()
        .filter_map(|(name, version)| version.as_ref().map(|version| format!("{name} {version}")))
        .collect();
    parts.push(ended(tried.ended, tried.steps.len() as u64));
    parts.push(Elapsed(Duration::from_secs_f64(tried.seconds.max(0.0))).to_string());
    format!("{}\n{}\n", parts.join(", "), basis(tried.basis))
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Measured => "Basis: measured, the card's own numbers were read from a real one",
        Basis::Derived => "Basis: derived, the card's own numbers come from its data sheet and from a measured H200",
    }
}

fn ended(ended: Ended, steps: u64) -> String {
    let steps = match steps {
        1 => "1 step".into(),
        n => format!("{n} steps"),
    };
    match ended {
        Ended::Steady => format!("steady after {steps}"),
        Ended::Steps => format!("stopped after {steps}"),
        Ended::Finished => format!("ended by itself after {steps}"),
        Ended::TimeLimit => format!("time limit after {steps}"),
        Ended::Oom => format!("out of memory after {steps}"),
        Ended::Error => format!("error after {steps}"),
        Ended::Interrupted => format!("interrupted after {steps}"),
        Ended::Died => format!("died after {steps}"),
    }
}
