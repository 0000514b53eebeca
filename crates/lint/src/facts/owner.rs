//! Who owns the training loop: a framework that calls `backward` and `step` itself makes many rules silent.

use super::scope::ClassId;
use super::{Facts, Kind};
use crate::parse::{HasNodeIndex, Ranged, Stmt, TextRange};

/// A framework that takes over parts of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framework {
    Lightning,
    /// Hugging Face `Trainer` and trl.
    Trainer,
    Accelerate,
    Fabric,
    DeepSpeed,
    Fsdp,
    /// `torch.distributed.autograd`: gradients live in a context, not in `.grad`.
    DistributedAutograd,
}

impl Framework {
    fn modules(self) -> &'static [&'static str] {
        match self {
            Framework::Lightning => &["lightning"],
            Framework::Trainer => &["transformers.Trainer", "transformers.Seq2SeqTrainer", "trl"],
            Framework::Accelerate => &["accelerate"],
            Framework::Fabric => &["lightning.Fabric"],
            Framework::DeepSpeed => &["deepspeed"],
            Framework::Fsdp => &["torch.distributed.fsdp"],
            Framework::DistributedAutograd => &["torch.distributed.autograd"],
        }
    }
}

impl<'a> Facts<'a> {
    /// Whether the file uses a framework.
    pub fn uses_framework(&self, framework: Framework) -> bool {
        framework.modules().iter().any(|module| self.imports(module) || self.mentions(module))
    }

    /// Whether some expression of the file has this qualified name, or lies inside this module.
    pub fn mentions(&self, name: &str) -> bool {
        self.symbols.any(|known| known.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    }

    /// Whether a node stands in a method of a `LightningModule`, whose loop belongs to Lightning.
    pub fn in_lightning(&self, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        self.class_of(node).is_some_and(|class| self.is_lightning(class))
    }

    pub fn is_lightning(&self, class: ClassId) -> bool {
        self.bases(class).iter().any(|base| base.ends_with("LightningModule"))
    }

    /// Whether a node stands in a method of an `nn.Module` (Lightning's too).
    pub fn in_module(&self, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        self.class_of(node).is_some_and(|class| self.class_kind(class).is_module())
    }

    /// Whether a node stands in a class that derives from a `Trainer` of transformers or trl.
    pub fn in_trainer(&self, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        self.class_of(node).is_some_and(|class| self.class_kind(class) == Kind::Trainer)
    }

    /// Whether a statement is the last of a notebook's cell, whose value the notebook shows (and keeps).
    pub fn is_shown_by_notebook(&self, stmt: &Stmt) -> bool {
        let Some(cell) = self.source.notebook().and_then(|notebook| notebook.cell_at(stmt.start())) else {
            return false;
        };
        let rest = &self.source.text()[TextRange::new(stmt.end(), cell.range.end())];
        self.parent(stmt).is_none()
            && rest.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    }

    /// Whether a node stands in a test: `def test_…`, a class `Test…`, or a file of tests.
    pub fn in_test(&self, node: &(impl HasNodeIndex + ?Sized)) -> bool {
        let path = self.source.path();
        let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
        name.starts_with("test_")
            || name.ends_with("_test")
            || name == "conftest"
            || self.function_of(node).is_some_and(|f| f.stmt.name.starts_with("test_"))
            || self.class_of(node).is_some_and(|c| self.class(c).stmt.name.starts_with("Test"))
    }
}
