//! Shell scripts, YAML and Dockerfiles, read line by line: which environment variables they set and what they launch.

use super::settings::{Setter, Setting};
use crate::parse::{TextRange, TextSize};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFormat {
    Shell,
    Yaml,
    Dockerfile,
    /// `.env` files and Makefiles.
    Env,
}

impl LineFormat {
    pub fn of(name: &str) -> Option<LineFormat> {
        let lower = name.to_ascii_lowercase();
        match lower.rsplit_once('.').map(|(_, end)| end) {
            Some("sh" | "bash" | "slurm" | "sbatch" | "zsh") => Some(LineFormat::Shell),
            Some("yml" | "yaml") => Some(LineFormat::Yaml),
            Some("dockerfile") => Some(LineFormat::Dockerfile),
            Some("env") => Some(LineFormat::Env),
            _ if lower.starts_with("dockerfile") || lower == "containerfile" => Some(LineFormat::Dockerfile),
            _ if lower == "makefile" => Some(LineFormat::Env),
            _ => None,
        }
    }
}

/// The variables whose values matter to PyTorch's memory.
const NAMES: &[&str] = &[
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
];

/// The settings in a text, in order. Comments are left out.
pub fn settings<'t>(text: &'t str, format: LineFormat) -> Vec<Setting<'t>> {
    let mut found = Vec::new();
    if memchr::memmem::find(text.as_bytes(), b"CUDA").is_none()
        && memchr::memmem::find(text.as_bytes(), b"PYTORCH").is_none()
    {
        return found;
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim_start().starts_with('#') {
            line_settings(text, line, start, format, &mut found);
        }
        start += line.len();
    }
    found
}

fn line_settings<'t>(text: &'t str, line: &'t str, start: usize, format: LineFormat, found: &mut Vec<Setting<'t>>) {
    for name in NAMES {
        for (at, _) in line.match_indices(name) {
            let bounded =
                !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '{');
            let after = &line[at + name.len()..];
            if !bounded || after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
                continue;
            }
            let Some((offset, value)) = value_of(after, format) else { continue };
            let value_start = start + at + name.len() + offset;
            found.push(Setting {
                name: &line[at..at + name.len()],
                value,
                range: range(start + at, value_start + value.len()),
                value_range: range(value_start, value_start + value.len()),
                setter: Setter::Lines(format),
                text,
            });
        }
    }
}

/// The value behind a name, and where it begins: `=x`, `="x y"`, `: x`, ` x` (Dockerfile's old form).
fn value_of(after: &str, format: LineFormat) -> Option<(usize, &str)> {
    let assigned = match format {
        LineFormat::Yaml => after.strip_prefix('=').or_else(|| after.trim_start_matches(['"', '\'']).strip_prefix(':')),
        LineFormat::Dockerfile => after.strip_prefix('=').or_else(|| after.strip_prefix(' ')),
        LineFormat::Shell => after.strip_prefix('='),
        LineFormat::Env => after.trim_start().strip_prefix(":=").or_else(|| after.trim_start().strip_prefix('=')),
    }?;
    let trimmed = assigned.trim_start_matches([' ', '\t']);
    let offset = after.len() - trimmed.len();
    if let Some(quote) = trimmed.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let inner = &trimmed[1..];
        let end = inner.find(quote)?;
        return Some((offset + 1, &inner[..end]));
    }
    let spaces = matches!(format, LineFormat::Yaml) || (format == LineFormat::Env);
    let end =
        trimmed.find(|c: char| "\n\r#\"';&|".contains(c) || (c.is_whitespace() && !spaces)).unwrap_or(trimmed.len());
    Some((offset, trimmed[..end].trim_end()))
}

/// Whether a line-based file starts training on several processes.
pub fn launches_distributed(text: &str) -> bool {
    text.lines().map(str::trim_start).filter(|line| !line.starts_with('#')).any(|line| {
        ["torchrun", "accelerate launch", "torch.distributed.run", "torch.distributed.launch", "deepspeed "]
            .iter()
            .any(|launcher| line.contains(launcher))
    })
}

fn range(start: usize, end: usize) -> TextRange {
    TextRange::new(TextSize::new(start as u32), TextSize::new(end as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str, format: LineFormat) -> Vec<(&str, &str)> {
        let found = settings(text, format);
        for setting in &found {
            assert_eq!(&text[setting.value_range], setting.value);
        }
        found.iter().map(|s| (s.name, s.value)).collect()
    }

    #[test]
    fn shell() {
        let text = "# PYTORCH_ALLOC_CONF=no\nexport PYTORCH_CUDA_ALLOC_CONF=\"a:1,b:2\"\nCUDA_VISIBLE_DEVICES=0,1 torchrun t.py\necho $CUDA_VISIBLE_DEVICES\n";
        assert_eq!(
            values(text, LineFormat::Shell),
            [("PYTORCH_CUDA_ALLOC_CONF", "a:1,b:2"), ("CUDA_VISIBLE_DEVICES", "0,1")]
        );
        assert!(launches_distributed(text));
    }

    #[test]
    fn yaml() {
        let text = "env:\n  PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True\n  - PYTORCH_ALLOC_CONF=x:1\n  \"CUDA_VISIBLE_DEVICES\": '0'\n";
        assert_eq!(
            values(text, LineFormat::Yaml),
            [
                ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
                ("PYTORCH_ALLOC_CONF", "x:1"),
                ("CUDA_VISIBLE_DEVICES", "0")
            ]
        );
    }

    #[test]
    fn dockerfile() {
        let text = "FROM x\nENV PYTORCH_CUDA_ALLOC_CONF=a:1 OTHER=2\nENV PYTORCH_ALLOC_CONF b:2\n";
        assert_eq!(
            values(text, LineFormat::Dockerfile),
            [("PYTORCH_CUDA_ALLOC_CONF", "a:1"), ("PYTORCH_ALLOC_CONF", "b:2")]
        );
    }

    #[test]
    fn names_of_files() {
        assert_eq!(LineFormat::of("train.sh"), Some(LineFormat::Shell));
        assert_eq!(LineFormat::of("Dockerfile.gpu"), Some(LineFormat::Dockerfile));
        assert_eq!(LineFormat::of("README.md"), None);
    }
}
