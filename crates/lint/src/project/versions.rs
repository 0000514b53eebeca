//! Versions of libraries, as requirement files, lock files and environments state them.

use rustc_hash::FxHashMap;

/// Major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u16, pub u16);

impl Version {
    fn next(self) -> Version {
        Version(self.0, self.1.saturating_add(1))
    }
}

/// The versions that a project allows.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    by_name: FxHashMap<&'static str, Bounds>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bounds {
    lowest: Option<Version>,
    /// All allowed versions are below this one.
    below: Option<Version>,
}

/// Name in files, name here.
const LIBRARIES: &[(&str, &str)] = &[
    ("torch", "torch"),
    ("pytorch", "torch"),
    ("transformers", "transformers"),
    ("accelerate", "accelerate"),
    ("lightning", "lightning"),
    ("pytorch-lightning", "lightning"),
    ("pytorch_lightning", "lightning"),
    ("diffusers", "diffusers"),
    ("peft", "peft"),
    ("trl", "trl"),
    ("bitsandbytes", "bitsandbytes"),
];

impl Versions {
    /// Whether all allowed versions are at least this one; nothing when the project does not say.
    pub fn at_least(&self, library: &str, version: Version) -> Option<bool> {
        let bounds = self.by_name.get(library)?;
        match (bounds.lowest, bounds.below) {
            (Some(lowest), _) => Some(lowest >= version),
            (None, Some(below)) if below <= version => Some(false),
            _ => None,
        }
    }

    /// Whether the project says that all allowed versions are below this one.
    pub fn only_before(&self, library: &str, version: Version) -> bool {
        self.by_name.get(library).and_then(|bounds| bounds.below).is_some_and(|below| below <= version)
    }

    pub(super) fn add(&mut self, file: &str, text: &str) {
        let locked = file.ends_with(".lock");
        let mut name: Option<&'static str> = None;
        for line in text.lines() {
            let line = line.trim();
            if locked {
                if let Some(value) = quoted_value(line, "name") {
                    name = library(value);
                } else if let (Some(library), Some(value)) = (name, quoted_value(line, "version")) {
                    // A lock file says exactly what runs; it overrules what is merely allowed.
                    let lowest = version(value);
                    self.by_name.insert(library, Bounds { lowest, below: lowest.map(Version::next) });
                    name = None;
                }
            } else if let Some((library, bounds)) = requirement(line) {
                // A name without a version may be a keyword of the package: it says nothing.
                let known = self.by_name.entry(library).or_default();
                if *known == Bounds::default() {
                    *known = bounds;
                }
            }
        }
    }

    pub(super) fn fill_from(&mut self, outer: &Versions) {
        for (name, bounds) in &outer.by_name {
            self.by_name.entry(name).or_insert(*bounds);
        }
    }
}

fn library(name: &str) -> Option<&'static str> {
    LIBRARIES.iter().find(|(in_files, _)| in_files.eq_ignore_ascii_case(name)).map(|(_, here)| *here)
}

fn quoted_value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim_start();
    rest.strip_prefix('"')?.split('"').next()
}

/// `torch>=2.1,<3`, `"torch==2.3.1",`, `- pytorch=2.1`, `torch = "^2.2"`.
fn requirement(line: &str) -> Option<(&'static str, Bounds)> {
    let line = line.split('#').next()?.trim_start_matches(['-', ' ', '"', '\'']);
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(line.len());
    let library = library(&line[..end])?;
    let rest = line[end..].trim_start();
    let rest = rest.strip_prefix('[').and_then(|extras| extras.split_once(']')).map_or(rest, |(_, rest)| rest);
    let rest = rest.split(';').next()?;
    let starts = rest.trim_start().starts_with(['=', '<', '>', '~', '!', '"', '\'', ',', '^']);
    if !starts && !rest.trim().is_empty() {
        return None;
    }
    Some((library, bounds(rest)))
}

fn bounds(spec: &str) -> Bounds {
    let mut bounds = Bounds::default();
    for part in spec.split(',') {
        let part = part.trim().trim_matches(['"', '\'', ']', '[', ' ', ')']);
        let is_pin = part.starts_with("==");
        let part = part.trim_start_matches(['"', '\'', '=', ' ']);
        let digits = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
        let (operator, number) = part.split_at(digits);
        let Some(found) = version(number) else { continue };
        match operator.trim().trim_matches(['"', '\'']) {
            "<" => bounds.below = Some(found),
            "<=" => bounds.below = Some(found.next()),
            "!=" => {}
            // `==4.*` leaves the minor open.
            "" if is_pin && number.contains('.') && !number.contains(".*") => {
                bounds = Bounds { lowest: Some(found), below: Some(found.next()) };
            }
            "^" | "~=" => bounds = Bounds { lowest: Some(found), below: Some(Version(found.0 + 1, 0)) },
            "" if is_pin => bounds = Bounds { lowest: Some(found), below: Some(Version(found.0 + 1, 0)) },
            ">" | ">=" | "~" | "" => bounds.lowest = Some(found),
            _ => {}
        }
    }
    bounds
}

fn version(text: &str) -> Option<Version> {
    let mut parts = text.split(['.', '+', ' ', '"', '\'', '*']);
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|m| m.parse().ok()).unwrap_or(0);
    Some(Version(major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_least(file: &str, text: &str, library: &str, major: u16, minor: u16) -> Option<bool> {
        let mut versions = Versions::default();
        versions.add(file, text);
        versions.at_least(library, Version(major, minor))
    }

    #[test]
    fn requirements_are_read() {
        assert_eq!(at_least("requirements.txt", "numpy\ntorch>=2.1,<3\n", "torch", 2, 1), Some(true));
        assert_eq!(at_least("requirements.txt", "torch>=2.1\n", "torch", 2, 3), Some(false));
        assert_eq!(at_least("requirements.txt", "torch==2.3.1+cu121  # gpu", "torch", 2, 3), Some(true));
        assert_eq!(at_least("requirements.txt", "torchvision>=0.15", "torch", 2, 0), None);
        assert_eq!(at_least("requirements.txt", "torch", "torch", 2, 0), None);
        assert_eq!(at_least("requirements.txt", "transformers[torch]<5", "transformers", 5, 0), Some(false));
    }

    #[test]
    fn a_pin_is_an_upper_bound_too() {
        let only_before = |text: &str, major, minor| {
            let mut versions = Versions::default();
            versions.add("requirements.txt", text);
            versions.only_before("transformers", Version(major, minor))
        };
        assert!(only_before("transformers==4.31.0", 4, 32) && only_before("transformers~=4.31", 5, 0));
        assert!(only_before("transformers<5", 5, 0) && only_before("transformers<=4.57.1", 5, 0));
        assert!(!only_before("transformers>=4.31", 5, 0) && !only_before("transformers==5.0", 5, 0));
        assert!(!only_before("transformers", 5, 0));
        assert!(only_before("transformers==4.*", 5, 0) && !only_before("transformers==4.*", 4, 30));
    }

    #[test]
    fn keywords_are_not_requirements() {
        let text = "keywords = [\n  \"PyTorch\",\n]\ndependencies = [\n  \"torch>=1.11.0\",\n]\n";
        assert_eq!(at_least("pyproject.toml", text, "torch", 2, 3), Some(false));
    }

    #[test]
    fn other_files_are_read() {
        assert_eq!(at_least("pyproject.toml", "dependencies = [\n  \"torch>=2.4\",\n]\n", "torch", 2, 4), Some(true));
        assert_eq!(at_least("environment.yml", "dependencies:\n  - pytorch=1.13\n", "torch", 2, 0), Some(false));
        assert_eq!(
            at_least("uv.lock", "[[package]]\nname = \"torch\"\nversion = \"2.6.0\"\n", "torch", 2, 6),
            Some(true)
        );
        assert_eq!(at_least("pyproject.toml", "torch = \"^2.2\"\n", "torch", 2, 2), Some(true));
    }
}
