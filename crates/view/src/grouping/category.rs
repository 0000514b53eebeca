//! By what memory is for.

use trace::{AllocationId, Basis, Category};

use super::{Group, Grouping, Scene};

/// What lives longest is at the bottom, where it stays level.
const ORDER: [Category; 9] = [
    Category::Parameter,
    Category::Buffer,
    Category::OptimizerState,
    Category::Gradient,
    Category::Activation,
    Category::Input,
    Category::Workspace,
    Category::Temporary,
    Category::Unknown,
];

pub fn grouping(scene: &Scene<'_>) -> Grouping {
    let purposes = scene.history.purposes();
    let all = || (0..scene.lives.len()).map(|at| purposes.get(AllocationId::from_index(at)));
    let of = all().map(|purpose| place(purpose.category)).collect();
    let groups =
        ORDER.iter().map(|&category| Group { rest: category == Category::Unknown, ..Group::named(category.word()) });
    Grouping { id: "category", groups: groups.collect(), of, marked: Some(all().all(|it| it.basis == Basis::Marked)) }
}

fn place(category: Category) -> u8 {
    ORDER.iter().position(|&known| known == category).unwrap_or(ORDER.len() - 1) as u8
}
