//! ## What it finds
//!
//! A value of `PYTORCH_CUDA_ALLOC_CONF` (or its newer name) that PyTorch does not accept: an unknown key, `=` for `:`, `true`
//! for `True`, a split size below 20. In Python, shell scripts, YAML and Dockerfiles.
//!
//! ## Why
//!
//! PyTorch stops when it reads the value: at `import torch`, or at the first allocation.
//!
//! ## Bad
//!
//! ```python
//! os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments=True"
//! ```
//!
//! ## Good
//!
//! ```python
//! os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
//! ```
//!
//! ## Fix
//!
//! Safe for `=`, `true` and blanks between options; other mistakes have no fix.
//!
//! ## References
//!
//! - PyTorch documentation, "CUDA semantics", memory management
//! - `c10/core/AllocatorConfig.h`

use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::inputs::settings::Setting;
use crate::rule::{Rule, Safety};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O08",
    name: "alloc-conf-malformed",
    severity: Severity::Error,
    fix: Safety::Sometimes,
    setting: Some(check_setting),
    ..Rule::DEFAULT
};

/// Keys that torch 2.11 accepts, and what their values are.
const KEYS: &[(&str, Form)] = &[
    ("backend", Form::Any),
    ("expandable_segments", Form::Switch),
    ("garbage_collection_threshold", Form::Fraction),
    ("graph_capture_record_stream_reuse", Form::Switch),
    ("large_segment_size_mb", Form::AtLeast(20)),
    ("max_non_split_rounding_mb", Form::AtLeast(20)),
    ("max_split_size_mb", Form::AtLeast(20)),
    ("per_process_memory_fraction", Form::Fraction),
    ("pinned_num_register_threads", Form::AtLeast(1)),
    ("pinned_reserve_segment_size_mb", Form::AtLeast(0)),
    ("pinned_use_background_threads", Form::Switch),
    ("pinned_use_cuda_host_register", Form::Switch),
    ("release_lock_on_cudamalloc", Form::Switch),
    ("release_lock_on_hipmalloc", Form::Switch),
    ("pinned_use_hip_host_register", Form::Switch),
    ("roundup_power2_divisions", Form::Any),
];

/// Accepted by older releases.
const FORMER: &[&str] = &["roundup_bypass_threshold_mb"];

#[derive(Clone, Copy)]
enum Form {
    Any,
    Switch,
    Fraction,
    AtLeast(u64),
}

fn check_setting(setting: &Setting<'_>, sink: &mut Sink<'_>) {
    let is_allocator =
        matches!(setting.name, "PYTORCH_CUDA_ALLOC_CONF" | "PYTORCH_HIP_ALLOC_CONF" | "PYTORCH_ALLOC_CONF");
    // A value with variables or escapes is not known here.
    if !is_allocator || setting.value.trim().is_empty() || setting.value.contains(['$', '{', '\\', '%', '<']) {
        return;
    }
    let Some(wrong) = first_mistake(setting.value) else { return };
    let mended = mend(setting.value);
    let edits = (mended != setting.value && first_mistake(&mended).is_none())
        .then(|| vec![Edit::replace(setting.value_range, mended)]);
    sink.report(setting.value_range, format!("PyTorch stops at this value of `{}`: {wrong}", setting.name)).fix_if(
        true,
        "Write it as PyTorch reads it",
        edits,
    );
}

/// What PyTorch would complain about first.
fn first_mistake(value: &str) -> Option<String> {
    options(value).into_iter().find_map(|option| match option.split_once(':') {
        Some((key, value)) => mistake_in(key.trim(), value.trim()),
        None => Some(format!("`{}` should be `key:value`", option.trim())),
    })
}

/// `a:1,b:[x:1,y:2]` → `a:1`, `b:[x:1,y:2]`.
fn options(value: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let parts = value.split(move |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth <= 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

fn mistake_in(key: &str, value: &str) -> Option<String> {
    let Some((_, form)) = KEYS.iter().find(|(known, _)| *known == key) else {
        return match FORMER.contains(&key) {
            true => Some(format!("`{key}` is not accepted any more")),
            false => Some(format!("there is no option `{key}`")),
        };
    };
    match form {
        Form::Any => None,
        Form::Switch => {
            (!matches!(value, "True" | "False")).then(|| format!("`{key}` is `True` or `False`, not `{value}`"))
        }
        Form::Fraction => match value.parse::<f64>() {
            Ok(number) if number > 0.0 && number <= 1.0 => None,
            _ => Some(format!("`{key}` is a fraction between 0 and 1, not `{value}`")),
        },
        Form::AtLeast(least) => match value.parse::<u64>() {
            Ok(number) if number >= *least => None,
            Ok(number) => Some(format!("`{key}` must be at least {least}, not {number}")),
            Err(_) => Some(format!("`{key}` is a whole number, not `{value}`")),
        },
    }
}

/// The value with `=`, blanks and lower-case switches put right.
fn mend(value: &str) -> String {
    let spaced = value.trim().replace(" :", ":").replace(": ", ":").replace(", ", ",").replace([' ', ';'], ",");
    let parts = options(&spaced).into_iter().map(|option| {
        let (key, value) = option.split_once([':', '=']).unwrap_or((option, ""));
        let value = match value.to_ascii_lowercase().as_str() {
            "true" | "1" => switch_or(key, value, "True"),
            "false" | "0" => switch_or(key, value, "False"),
            _ => value,
        };
        if value.is_empty() { key.to_owned() } else { format!("{key}:{value}") }
    });
    parts.collect::<Vec<_>>().join(",")
}

fn switch_or<'v>(key: &str, value: &'v str, switch: &'v str) -> &'v str {
    match KEYS.iter().find(|(known, _)| *known == key) {
        Some((_, Form::Switch)) => switch,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_values() {
        for value in [
            "expandable_segments:True",
            "max_split_size_mb:128,garbage_collection_threshold:0.8",
            "backend:cudaMallocAsync",
            "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
            "expandable_segments:True,",
        ] {
            assert_eq!(first_mistake(value), None, "{value}");
        }
    }

    #[test]
    fn refused_values() {
        for value in [
            "expandable_segments=True",
            "expandable_segments:true",
            "max_split_size_mb:16",
            "expandable_segment:True",
            "max_split_size_mb:128MB",
        ] {
            assert!(first_mistake(value).is_some(), "{value}");
        }
    }

    #[test]
    fn some_are_mended() {
        assert_eq!(mend("expandable_segments=true"), "expandable_segments:True");
        assert_eq!(
            mend("max_split_size_mb:128 expandable_segments:True"),
            "max_split_size_mb:128,expandable_segments:True"
        );
        assert_eq!(mend("expandable_segments: True"), "expandable_segments:True");
    }
}
