//! What was still alive when a run died in the phase that made it: its siblings tell what would have become of it.
//!
//! Siblings are allocations of the same size by the same stack: the same line in other layers and earlier steps.

use rustc_hash::FxHashMap;

use crate::purpose::inferred::Judge;
use crate::{AllocationId, Category, Phase, StackId};

type Kind = (StackId, u64);

/// How siblings ended.
#[derive(Debug, Clone, Copy, Default)]
struct Votes {
    died: u32,
    stayed: u32,
}

pub(super) fn settle(judge: &mut Judge) {
    let undecided = std::mem::take(&mut judge.undecided);
    if undecided.is_empty() {
        return;
    }
    let votes = votes(judge, &undecided);
    let parameters = parameter_sizes(judge);
    for id in undecided {
        let votes = votes.get(&kind(judge, id)).copied().unwrap_or_default();
        let decided = decide(judge, id, votes, &parameters);
        judge.rows[id.index()] = decided;
    }
}

fn kind(judge: &Judge, id: AllocationId) -> Kind {
    (judge.allocations.stack(id), judge.allocations.requested(id))
}

fn votes(judge: &Judge, undecided: &[AllocationId]) -> FxHashMap<Kind, Votes> {
    let mut votes: FxHashMap<Kind, Votes> = undecided.iter().map(|&id| (kind(judge, id), Votes::default())).collect();
    for id in judge.allocations.ids() {
        let Some(votes) = votes.get_mut(&kind(judge, id)) else { continue };
        match judge.rows[id.index()] {
            Category::Temporary if judge.fate(id) != super::inferred::Fate::Open => votes.died += 1,
            _ => votes.stayed += 1,
        }
    }
    votes
}

fn decide(judge: &Judge, id: AllocationId, votes: Votes, parameters: &FxHashMap<u64, u32>) -> Category {
    let temporary = votes.died > votes.stayed;
    match judge.phase_of(id) {
        _ if temporary => Category::Temporary,
        Phase::Optimizer => optimizer(judge, id, votes),
        Phase::Backward if is_gradient(judge, id, parameters) => Category::Gradient,
        Phase::Backward => Category::Temporary,
        _ => Category::Activation,
    }
}

fn is_gradient(judge: &Judge, id: AllocationId, parameters: &FxHashMap<u64, u32>) -> bool {
    parameters.contains_key(&judge.allocations.requested(id))
}

/// Momentum is a copy of the first gradient; everything else that optimizers make outside of their setup is scratch.
fn optimizer(judge: &Judge, id: AllocationId, votes: Votes) -> Category {
    let signs = judge.signs.get(judge.allocations.stack(id));
    let state = signs.clones() || votes.stayed > votes.died && votes.died > 0;
    if state { Category::OptimizerState } else { Category::Temporary }
}

/// Sizes of what is known to be a parameter, or of gradients of earlier steps.
fn parameter_sizes(judge: &Judge) -> FxHashMap<u64, u32> {
    let mut sizes: FxHashMap<u64, u32> = FxHashMap::default();
    for id in judge.allocations.ids() {
        let known = matches!(judge.rows[id.index()], Category::Parameter | Category::Gradient);
        let old = judge.allocations.born(id).is_none();
        if known || old {
            *sizes.entry(judge.allocations.requested(id)).or_default() += 1;
        }
    }
    sizes
}
