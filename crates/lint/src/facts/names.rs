//! Qualified names: which library object an expression names, whatever the file calls it.

use super::Facts;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, HasNodeIndex, Stmt};

/// One spelling per object: libraries that moved keep their newer, shorter name.
pub(super) fn canonical(name: &str) -> String {
    for (old, new) in [
        ("lightning.pytorch", "lightning"),
        ("pytorch_lightning", "lightning"),
        ("lightning.fabric", "lightning"),
        ("lightning_fabric", "lightning"),
        ("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint"),
        ("torch.cuda.amp.autocast_mode", "torch.cuda.amp"),
        ("torch.cuda.amp.grad_scaler", "torch.cuda.amp"),
        ("torch.amp.autocast_mode", "torch.amp"),
        ("torch.amp.grad_scaler", "torch.amp"),
        ("torch.nn.utils.clip_grad.", "torch.nn.utils."),
        ("torch.nn.parallel.distributed.", "torch.nn.parallel."),
        ("torch.nn.parallel.DataParallel", "torch.nn.DataParallel"),
        ("torch.utils.data.dataloader.", "torch.utils.data."),
        ("torch.utils.data.dataset.", "torch.utils.data."),
        ("torch.optim.optimizer.", "torch.optim."),
        ("torch.nn.modules.module.", "torch.nn."),
        ("transformers.trainer.", "transformers."),
        ("transformers.training_args.", "transformers."),
        ("accelerate.accelerator.", "accelerate."),
    ] {
        if let Some(rest) = name.strip_prefix(old)
            && (old.ends_with('.') || rest.is_empty() || rest.starts_with('.'))
        {
            return format!("{new}{rest}");
        }
    }
    name.to_owned()
}

/// What a name that nothing in the file binds stands for by convention: fragments and notebooks leave imports out.
pub(super) fn conventional(name: &str) -> Option<&'static str> {
    CONVENTIONS.binary_search_by_key(&name, |(short, _)| short).ok().map(|at| CONVENTIONS[at].1)
}

/// Sorted by name.
const CONVENTIONS: &[(&str, &str)] = &[
    ("AUROC", "torchmetrics.AUROC"),
    ("Accelerator", "accelerate.Accelerator"),
    ("AutoModel", "transformers.AutoModel"),
    ("AutoModelForCausalLM", "transformers.AutoModelForCausalLM"),
    ("AutoModelForSequenceClassification", "transformers.AutoModelForSequenceClassification"),
    ("AutoTokenizer", "transformers.AutoTokenizer"),
    ("BitsAndBytesConfig", "transformers.BitsAndBytesConfig"),
    ("DDP", "torch.nn.parallel.DistributedDataParallel"),
    ("DataLoader", "torch.utils.data.DataLoader"),
    ("DataParallel", "torch.nn.DataParallel"),
    ("Dataset", "torch.utils.data.Dataset"),
    ("DiffusionPipeline", "diffusers.DiffusionPipeline"),
    ("DistributedDataParallel", "torch.nn.parallel.DistributedDataParallel"),
    ("F", "torch.nn.functional"),
    ("FSDP", "torch.distributed.fsdp.FullyShardedDataParallel"),
    ("GradScaler", "torch.amp.GradScaler"),
    ("IterableDataset", "torch.utils.data.IterableDataset"),
    ("L", "lightning"),
    ("LightningModule", "lightning.LightningModule"),
    ("LoraConfig", "peft.LoraConfig"),
    ("PartialState", "accelerate.PartialState"),
    ("Seq2SeqTrainer", "transformers.Seq2SeqTrainer"),
    ("Seq2SeqTrainingArguments", "transformers.Seq2SeqTrainingArguments"),
    ("StaticCache", "transformers.StaticCache"),
    ("TensorDataset", "torch.utils.data.TensorDataset"),
    ("Trainer", "transformers.Trainer"),
    ("TrainingArguments", "transformers.TrainingArguments"),
    ("accelerate", "accelerate"),
    ("autocast", "torch.amp.autocast"),
    ("checkpoint", "torch.utils.checkpoint.checkpoint"),
    ("copy", "copy"),
    ("deepcopy", "copy.deepcopy"),
    ("deepspeed", "deepspeed"),
    ("diffusers", "diffusers"),
    ("dist", "torch.distributed"),
    ("functools", "functools"),
    ("gc", "gc"),
    ("get_peft_model", "peft.get_peft_model"),
    ("json", "json"),
    ("lightning", "lightning"),
    ("mp", "torch.multiprocessing"),
    ("multiprocessing", "multiprocessing"),
    ("nn", "torch.nn"),
    ("np", "numpy"),
    ("optim", "torch.optim"),
    ("os", "os"),
    ("peft", "peft"),
    ("pl", "lightning"),
    ("plt", "matplotlib.pyplot"),
    ("prepare_model_for_kbit_training", "peft.prepare_model_for_kbit_training"),
    ("sys", "sys"),
    ("timm", "timm"),
    ("torch", "torch"),
    ("torchmetrics", "torchmetrics"),
    ("torchvision", "torchvision"),
    ("tqdm", "tqdm.tqdm"),
    ("transformers", "transformers"),
];

impl<'a> Facts<'a> {
    /// The qualified name of a name or dotted name that comes from an import: `torch.optim.AdamW`.
    pub fn qualified(&self, expr: &Expr) -> Option<&str> {
        if !matches!(expr, Expr::Name(_) | Expr::Attribute(_)) {
            return None;
        }
        let symbol = self.node_symbol[self.id(expr).index()]?;
        Some(self.symbols.name(symbol))
    }

    /// The qualified name of what is called: `torch.load` for `t.load(path)` after `import torch as t`.
    pub fn callee(&self, call: &ExprCall) -> Option<&str> {
        self.qualified(&call.func)
    }

    /// Whether the call is of this library function or class.
    pub fn calls(&self, call: &ExprCall, name: &str) -> bool {
        self.callee(call) == Some(name)
    }

    /// Whether the call is of one of these library functions or classes.
    pub fn calls_any(&self, call: &ExprCall, names: &[&str]) -> bool {
        self.callee(call).is_some_and(|name| names.contains(&name))
    }

    /// The call that an expression is, if what it calls has this qualified name.
    pub fn as_call_of(&self, expr: &'a Expr, names: &[&str]) -> Option<&'a ExprCall> {
        let call = expr.as_call_expr()?;
        self.calls_any(call, names).then_some(call)
    }

    /// How this file can spell a library object (`torch.no_grad` → `t.no_grad`); nothing when it is not imported.
    pub fn spelling(&self, name: &str) -> Option<String> {
        self.imported
            .iter()
            .filter_map(|(local, full)| spelled(local, self.symbols.name(*full), name))
            .min_by_key(String::len)
    }

    /// Whether the file imports this module or something from it (or uses it by its usual name without an import).
    pub fn imports(&self, module: &str) -> bool {
        self.star_imports.iter().any(|m| is_within(m, module))
            || self.imported.iter().any(|(_, full)| is_within(self.symbols.name(*full), module))
    }

    /// The first statement at the margin that imports one of these modules, or something from them.
    pub fn first_import(&self, modules: &[&str]) -> Option<&'a Stmt> {
        self.parsed.body().iter().find(|stmt| match stmt {
            Stmt::Import(import) => import.names.iter().any(|alias| wanted(alias.name.as_str(), modules)),
            Stmt::ImportFrom(import) if import.level == 0 => {
                import.module.as_ref().is_some_and(|module| wanted(module.as_str(), modules))
            }
            _ => false,
        })
    }

    /// The last part of what is called: `backward` for `loss.backward()` and for `backward(loss)`.
    pub fn called_name(&self, call: &'a ExprCall) -> Option<&'a str> {
        match &*call.func {
            Expr::Name(name) => Some(name.id.as_str()),
            Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
            _ => None,
        }
    }

    /// Receiver and name of a method call: `(loss, "backward")`. Functions of modules (`torch.load`) are not methods.
    pub fn method(&self, call: &'a ExprCall) -> Option<(&'a Expr, &'a str)> {
        let attribute = call.func.as_attribute_expr()?;
        if self.qualified(&attribute.value).is_some() {
            return None;
        }
        Some((&attribute.value, attribute.attr.as_str()))
    }

    /// The receiver, if the expression is a call of this method.
    pub fn receiver(&self, expr: &'a Expr, method: &str) -> Option<&'a Expr> {
        let (receiver, name) = self.method(expr.as_call_expr()?)?;
        (name == method).then_some(receiver)
    }

    /// The whole text of a node.
    pub fn text(&self, node: &(impl crate::parse::Ranged + HasNodeIndex)) -> &'a str {
        &self.source.text()[node.range()]
    }
}

fn wanted(name: &str, modules: &[&str]) -> bool {
    let name = canonical(name);
    modules.iter().any(|module| is_within(&name, module))
}

fn spelled(local: &str, full: &str, wanted: &str) -> Option<String> {
    let rest = wanted.strip_prefix(full)?;
    (rest.is_empty() || rest.starts_with('.')).then(|| format!("{local}{rest}"))
}

fn is_within(name: &str, module: &str) -> bool {
    name.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conventions_are_sorted() {
        assert!(CONVENTIONS.is_sorted_by_key(|(short, _)| *short));
    }

    #[test]
    fn moved_libraries_have_one_name() {
        assert_eq!(canonical("pytorch_lightning.LightningModule"), "lightning.LightningModule");
        assert_eq!(canonical("lightning.pytorch.Trainer"), "lightning.Trainer");
        assert_eq!(canonical("torch.utils.data.dataloader.DataLoader"), "torch.utils.data.DataLoader");
        assert_eq!(canonical("torchx.nn"), "torchx.nn");
    }
}
