//! Purposes as the recorder marked them: tensors by address, modules by the allocations of their calls.

use crate::marks::Ordinals;
use crate::{AllocationId, Allocations, Basis, Category, Device, Mark, Marks, NameId, Purpose, Scope};

pub(super) fn apply(rows: &mut [Purpose], device: &Device, marks: &Marks, allocations: &Allocations) {
    let ordinals = Ordinals::of(&device.events, marks);
    let born: Vec<u64> = allocations
        .ids()
        .map(|id| allocations.born(id).and_then(|event| ordinals.of_event(event)).unwrap_or(0))
        .collect();
    mark_modules(rows, &marks.scopes, &born);
    mark_tensors(rows, &marks.tensors, &ordinals, &born, allocations);
}

/// The innermost call that an allocation was made in gives it its module.
fn mark_modules(rows: &mut [Purpose], scopes: &[Scope], born: &[u64]) {
    let mut scopes: Vec<Scope> = scopes.to_vec();
    scopes.sort_by_key(|scope| (scope.first, std::cmp::Reverse(scope.last)));
    let mut coming = scopes.into_iter().peekable();
    let mut open: Vec<Scope> = Vec::new();
    for (row, &ordinal) in rows.iter_mut().zip(born) {
        while let Some(scope) = coming.next_if(|scope| scope.first < ordinal) {
            while open.last().is_some_and(|before| before.last <= scope.first) {
                open.pop();
            }
            open.push(scope);
        }
        while open.last().is_some_and(|scope| scope.last < ordinal) {
            open.pop();
        }
        if let Some(scope) = open.last().filter(|_| ordinal > 0) {
            (row.module, row.basis) = (scope.module, Basis::Marked);
        }
    }
}

/// A mark is of the newest allocation at its address that was there when it was made, if it was still alive.
fn mark_tensors(rows: &mut [Purpose], marks: &[Mark], ordinals: &Ordinals, born: &[u64], allocations: &Allocations) {
    let mut lives: Vec<(u64, u64, AllocationId)> =
        allocations.ids().map(|id| (allocations.address(id), born[id.index()], id)).collect();
    lives.sort_unstable();
    let mut rank = vec![0_u8; rows.len()];
    for mark in marks {
        let until = lives.partition_point(|&(address, born, _)| (address, born) <= (mark.address, mark.ordinal));
        let Some(&(address, _, id)) = until.checked_sub(1).and_then(|at| lives.get(at)) else { continue };
        let made = ordinals.event_of(mark.ordinal);
        // Gone before the newest allocation was even made: the address was free, or not PyTorch's.
        let dead = matches!((made, allocations.gone(id)), (Some(made), Some(gone)) if gone < made);
        if address != mark.address || dead || rank[id.index()] > strength(mark.category) {
            continue;
        }
        rank[id.index()] = strength(mark.category);
        let row = &mut rows[id.index()];
        (row.category, row.basis) = (mark.category, Basis::Marked);
        if mark.name != NameId::EMPTY {
            row.module = mark.name;
        }
    }
}

/// A gradient that was once an activation's memory is a gradient: what outlives a step wins.
fn strength(category: Category) -> u8 {
    match category {
        Category::Parameter | Category::Buffer | Category::OptimizerState => 4,
        Category::Gradient => 3,
        Category::Input | Category::Workspace => 2,
        Category::Activation | Category::Temporary => 1,
        Category::Unknown => 0,
    }
}
