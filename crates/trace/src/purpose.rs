//! What each allocation was for.

mod inferred;
mod marked;
mod open;

use crate::signs::AllSigns;
use crate::{AllocationId, Allocations, Device, NameId, Timing};

/// What memory is for, in the words of someone who trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Category {
    Parameter,
    Gradient,
    OptimizerState,
    Buffer,
    /// Made in a forward pass and kept for the backward pass.
    Activation,
    /// A batch, before any model saw it.
    Input,
    /// Died in the phase that made it.
    Temporary,
    /// cuBLAS, cuDNN and the like.
    Workspace,
    /// Nobody knows, and we say so.
    Unknown,
}

impl Category {
    pub const ALL: [Category; 9] = [
        Category::Parameter,
        Category::Gradient,
        Category::OptimizerState,
        Category::Buffer,
        Category::Activation,
        Category::Input,
        Category::Temporary,
        Category::Workspace,
        Category::Unknown,
    ];

    /// As the Python side writes it in marks, and as people read it.
    pub fn word(self) -> &'static str {
        match self {
            Category::Parameter => "parameter",
            Category::Gradient => "gradient",
            Category::OptimizerState => "optimizer-state",
            Category::Buffer => "buffer",
            Category::Activation => "activation",
            Category::Input => "input",
            Category::Temporary => "temporary",
            Category::Workspace => "workspace",
            Category::Unknown => "unknown",
        }
    }

    pub fn from_word(word: &str) -> Option<Category> {
        Category::ALL.into_iter().find(|category| category.word() == word)
    }
}

/// How a purpose is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Basis {
    /// The recorder saw the tensor, or the module call that made it.
    Marked,
    /// From stacks and lifetimes.
    Inferred,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purpose {
    pub category: Category,
    pub basis: Basis,
    /// The module or parameter, empty where none is known.
    pub module: NameId,
}

/// One purpose per allocation.
#[derive(Debug, Clone, Default)]
pub struct Purposes {
    rows: Vec<Purpose>,
}

impl Purposes {
    pub fn get(&self, id: AllocationId) -> Purpose {
        self.rows[id.index()]
    }

    pub(crate) fn of(device: &Device, allocations: &Allocations, timing: &Timing, signs: &AllSigns) -> Purposes {
        let categories = inferred::categories(device, allocations, timing, signs);
        let inferred = |category| Purpose { category, basis: Basis::Inferred, module: NameId::EMPTY };
        let mut rows: Vec<Purpose> = categories.into_iter().map(inferred).collect();
        if let Some(marks) = &device.marks {
            marked::apply(&mut rows, device, marks, allocations);
        }
        Purposes { rows }
    }
}
