//! By the module that made it: `transformer.h.*.attn`, with the layers of a stack taken together.
//!
//! Starts with the model's outermost modules and opens the heaviest one again and again, for as long as there are
//! colours left.

use std::collections::BTreeMap;

use trace::AllocationId;

use super::{Group, Grouping, MOST_GROUPS, Scene};

/// None where no module is known.
pub fn grouping(scene: &Scene<'_>) -> Option<Grouping> {
    let patterns = Patterns::new(scene);
    let mut tree = Tree::default();
    for at in 0..scene.lives.len() {
        if let Some(pattern) = patterns.of(scene, at) {
            tree.add(pattern, scene.weight(at));
        }
    }
    let opened = tree.opened();
    if opened.is_empty() {
        return None;
    }
    // One lookup per pattern, not per allocation.
    let rest = opened.len() as u8;
    let places: Vec<u8> = patterns.texts.iter().map(|text| longest_prefix(&opened, text).unwrap_or(rest)).collect();
    let of =
        (0..scene.lives.len()).map(|at| patterns.number(scene, at).map_or(rest, |number| places[number])).collect();
    let groups = opened.iter().map(Group::named).chain([Group::rest("no module known")]).collect();
    Some(Grouping { id: "module", groups, of, marked: None })
}

/// The module names of a recording with their layer numbers taken out, each once.
struct Patterns {
    texts: Vec<String>,
    /// By name of the recording; `usize::MAX` for names that are no modules.
    number_of: Vec<usize>,
}

impl Patterns {
    fn new(scene: &Scene<'_>) -> Patterns {
        let mut patterns = Patterns { texts: Vec::new(), number_of: vec![usize::MAX; scene.recording.names.len()] };
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for at in 0..scene.lives.len() {
            let name = scene.history.purposes().get(AllocationId::from_index(at)).module;
            if patterns.number_of[name.index()] != usize::MAX || scene.recording.names.get(name).is_empty() {
                continue;
            }
            let text = pattern(scene.recording.names.get(name));
            let next = known.len();
            patterns.number_of[name.index()] = *known.entry(text).or_insert(next);
        }
        patterns.texts = vec![String::new(); known.len()];
        known.into_iter().for_each(|(text, number)| patterns.texts[number] = text);
        patterns
    }

    fn number(&self, scene: &Scene<'_>, allocation: usize) -> Option<usize> {
        let name = scene.history.purposes().get(AllocationId::from_index(allocation)).module;
        Some(self.number_of[name.index()]).filter(|&number| number != usize::MAX)
    }

    fn of(&self, scene: &Scene<'_>, allocation: usize) -> Option<&str> {
        self.number(scene, allocation).map(|number| self.texts[number].as_str())
    }
}

/// `h.3.attn` and `h.4.attn` are both `h.*.attn`.
fn pattern(module: &str) -> String {
    let part = |part: &str| if part.bytes().all(|c| c.is_ascii_digit()) { "*".to_owned() } else { part.to_owned() };
    module.split('.').map(part).collect::<Vec<_>>().join(".")
}

#[derive(Default)]
struct Tree {
    weight: u64,
    /// Of allocations that name this module and nothing inside it.
    own: u64,
    inside: BTreeMap<String, Tree>,
}

impl Tree {
    fn add(&mut self, path: &str, weight: u64) {
        let mut node = self;
        node.weight += weight;
        for part in path.split('.') {
            node = node.inside.entry(part.to_owned()).or_default();
            node.weight += weight;
        }
        node.own += weight;
    }

    /// The paths that get a group each, in the order of the alphabet, so that a module's parts are neighbours.
    fn opened(&self) -> Vec<String> {
        let mut open: Vec<Candidate<'_>> = self.parts("").collect();
        while let Some(heaviest) = heaviest_to_open(&open) {
            let Candidate { path, node, .. } = open.swap_remove(heaviest);
            open.extend(node.parts(&format!("{path}.")));
            if node.own > 0 {
                open.push(Candidate { path, weight: node.own, node, closed: true });
            }
        }
        open.sort_by_key(|candidate| std::cmp::Reverse(candidate.weight));
        open.truncate(MOST_GROUPS - 1);
        let mut paths: Vec<String> = open.into_iter().map(|candidate| candidate.path).collect();
        paths.sort();
        paths
    }

    fn parts(&self, prefix: &str) -> impl Iterator<Item = Candidate<'_>> {
        self.inside.iter().map(move |(name, node)| Candidate {
            path: format!("{prefix}{name}"),
            weight: node.weight,
            node,
            closed: node.inside.is_empty(),
        })
    }
}

/// A module that has a group for now.
struct Candidate<'a> {
    path: String,
    weight: u64,
    node: &'a Tree,
    /// There is nothing inside that could have groups of its own.
    closed: bool,
}

fn heaviest_to_open(open: &[Candidate<'_>]) -> Option<usize> {
    let fits = |node: &Tree| open.len() - 1 + node.inside.len() + usize::from(node.own > 0) < MOST_GROUPS;
    let candidates = open.iter().enumerate().filter(|(_, candidate)| !candidate.closed && fits(candidate.node));
    candidates.max_by_key(|(_, candidate)| candidate.weight).map(|(at, _)| at)
}

/// The group whose path is the longest beginning of this one.
fn longest_prefix(paths: &[String], path: &str) -> Option<u8> {
    let begins = |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let matching = paths.iter().enumerate().filter(|(_, prefix)| begins(prefix));
    matching.max_by_key(|(_, prefix)| prefix.len()).map(|(at, _)| at as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_taken_together() {
        assert_eq!(pattern("transformer.h.11.attn.c_attn"), "transformer.h.*.attn.c_attn");
    }

    #[test]
    fn the_heaviest_modules_are_opened_first() {
        let mut tree = Tree::default();
        for part in ["attn", "mlp", "norm"] {
            tree.add(&format!("model.layers.*.{part}"), 100);
        }
        for head in 0..9 {
            tree.add(&format!("model.head.part{head}"), 1);
        }
        tree.add("model.embed", 50);
        let opened = tree.opened();
        assert_eq!(
            opened,
            ["model.embed", "model.head", "model.layers.*.attn", "model.layers.*.mlp", "model.layers.*.norm"]
        );
        assert_eq!(longest_prefix(&opened, "model.layers.*.mlp.fc"), Some(3));
        assert_eq!(longest_prefix(&opened, "model.header"), None);
    }

    #[test]
    fn what_an_opened_module_holds_itself_keeps_a_group() {
        let mut tree = Tree::default();
        tree.add("model", 10);
        tree.add("model.head", 10);
        assert_eq!(tree.opened(), ["model", "model.head"]);
    }
}
