//! ## What it finds
//!
//! The allocator's variable (`PYTORCH_CUDA_ALLOC_CONF` and its newer names) set where PyTorch has already read it: in Python
//! after `import torch` or after a library that imports it, in a shell script after the training command.
//!
//! ## Why
//!
//! PyTorch reads the variable once, when it is imported. Set later it changes nothing, and the fragmentation that it should
//! cure goes on: axolotl saw 37 GB reserved instead of 27 until it set the variable early. Releases before 2.9 may read it
//! as late as the first allocation.
//!
//! Scripts that start other processes set it for those, and are not reported.
//!
//! ## Bad
//!
//! ```python
//! import os
//! import torch
//! os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
//! ```
//!
//! ## Good
//!
//! ```python
//! import os
//! os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
//! import torch
//! ```
//!
//! ## Fix
//!
//! Suggested: the line moves above the import. Formatters that sort imports may move it back; mark it for them.
//!
//! ## References
//!
//! - `c10/cuda/CUDAAllocatorConfig.h`
//! - axolotl-ai-cloud/axolotl#2183

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::inputs::lines::LineFormat;
use crate::inputs::settings::{Setter, Setting};
use crate::parse::Stmt;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O07",
    name: "alloc-conf-after-import",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Assign, Want::Named("setdefault"), Want::Named("putenv")],
    check,
    setting: Some(check_setting),
    ..Rule::DEFAULT
};

/// Importing these imports torch.
const TORCH: &[&str] = &[
    "torch",
    "torchvision",
    "torchaudio",
    "transformers",
    "diffusers",
    "accelerate",
    "lightning",
    "peft",
    "trl",
    "timm",
    "deepspeed",
    "bitsandbytes",
    "torchmetrics",
    "sentence_transformers",
];

/// A script that uses these sets the variable for the processes that it starts.
const STARTERS: &[&str] =
    &["subprocess", "ray", "multiprocessing", "torch.multiprocessing", "torch.distributed.launcher"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(setting) = facts.setting_of(node).filter(|s| is_allocator(s.name)) else { return };
    let Some(import) = facts.first_import(TORCH).filter(|stmt| facts.before(*stmt, &node)) else { return };
    if STARTERS.iter().any(|module| facts.imports(module)) {
        return;
    }
    let certain = !facts.project.allows_before("torch", 2, 9);
    let ignored = if certain { "is ignored" } else { "may be ignored" };
    let message =
        format!("`{}` is set after torch was imported and {ignored}: the allocator keeps its defaults", setting.name);
    sink.report(setting.range, message).fix_if(false, "Set it before the import", edits(facts, node, import));
}

/// Only a line at the margin can move, and only when `os` is already imported further up.
fn edits<'a>(facts: &Facts<'a>, node: Node<'a>, import: &'a Stmt) -> Option<Vec<Edit>> {
    let stmt = facts.statement(&node);
    let os = facts.first_import(&["os"])?;
    let at_margin = facts.parent(stmt).is_none() && facts.parent(import).is_none();
    (at_margin && facts.before(os, import)).then(|| facts.move_before(stmt, import)).flatten()
}

/// In a shell script: after the last command that starts Python.
fn check_setting(setting: &Setting<'_>, sink: &mut Sink<'_>) {
    if setting.setter != Setter::Lines(LineFormat::Shell) || !is_allocator(setting.name) {
        return;
    }
    let (before, after) = setting.text.split_at(setting.range.start().to_usize());
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    if launches(&before[..line_start]) && !launches(after) {
        sink.report(
            setting.range,
            format!("`{}` is set after the training command and has no effect on it", setting.name),
        );
    }
}

fn launches(script: &str) -> bool {
    script.lines().map(str::trim_start).filter(|line| !line.starts_with('#')).any(|line| {
        line.split_whitespace().any(|word| matches!(word, "python" | "python3" | "torchrun" | "deepspeed"))
            || line.contains("accelerate launch")
    })
}

fn is_allocator(name: &str) -> bool {
    matches!(name, "PYTORCH_CUDA_ALLOC_CONF" | "PYTORCH_HIP_ALLOC_CONF" | "PYTORCH_ALLOC_CONF")
}
