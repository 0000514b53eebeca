//! What a value probably is, when its binding does not say: by how it is used, and last by what it is called.

use super::kind::{UNKNOWN, Value};
use super::scope::PlaceId;
use super::tree::Node;
use super::{Facts, Kind};
use crate::parse::Expr;
use crate::parse::Stmt;

/// More uses than these are not looked at.
const USES: usize = 64;

impl<'a> Facts<'a> {
    /// A guess from use, then from the name. Never certain.
    pub(super) fn guess(&self, expr: &'a Expr) -> Value {
        let Some(place) = self.place_at(expr) else { return UNKNOWN };
        let known = self.memo.guesses.borrow().get(&place).copied();
        let kind = known.unwrap_or_else(|| {
            let kind = self.by_usage(place).or_else(|| by_name(self.place(place).name));
            self.memo.guesses.borrow_mut().insert(place, kind);
            kind
        });
        Value { kind: kind.unwrap_or(Kind::Unknown), sure: false }
    }

    /// Methods called on the value tell what it is: only an optimizer has both `step` and `zero_grad`.
    fn by_usage(&self, place: PlaceId) -> Option<Kind> {
        let mut seen = Seen::default();
        for node in self.guess_uses(place).into_iter().take(USES) {
            self.notice(node, &mut seen);
        }
        seen.verdict()
    }

    fn guess_uses(&self, place: PlaceId) -> Vec<&'a Expr> {
        match self.self_attribute(place) {
            Some((class, name)) => {
                self.attribute_uses(class, name).into_iter().filter_map(|id| self.node(id).expr()).collect()
            }
            None => self.place_uses(place),
        }
    }

    fn notice(&self, used: &'a Expr, seen: &mut Seen) {
        let Some(parent) = self.parent(used) else { return };
        match parent {
            Node::Expr(owner @ Expr::Attribute(attribute)) => match self.parent(owner) {
                Some(Node::Expr(Expr::Call(call))) if std::ptr::eq(&*call.func, owner) => {
                    seen.attribute(attribute.attr.as_str(), true, !call.arguments.is_empty());
                }
                _ => seen.attribute(attribute.attr.as_str(), false, false),
            },
            Node::Expr(Expr::Call(call)) if std::ptr::eq(&*call.func, used) => seen.called = true,
            Node::Stmt(Stmt::For(stmt)) if std::ptr::eq(&*stmt.iter, used) => seen.iterated = true,
            _ => {}
        }
    }
}

/// What was seen of a value.
#[derive(Default)]
struct Seen {
    module: bool,
    loads: bool,
    zero_grad: bool,
    step: bool,
    param_groups: bool,
    backward: bool,
    backward_of: bool,
    scale: bool,
    update: bool,
    accelerator: bool,
    item: bool,
    called: bool,
    iterated: bool,
}

impl Seen {
    fn attribute(&mut self, name: &str, called: bool, with_arguments: bool) {
        match name {
            "parameters"
            | "named_parameters"
            | "eval"
            | "train"
            | "modules"
            | "named_modules"
            | "requires_grad_"
            | "gradient_checkpointing_enable"
            | "resize_token_embeddings"
                if called =>
            {
                self.module = true;
            }
            // Optimizers, schedulers and scalers load their state, too; only a module is also called.
            "load_state_dict" if called => self.loads = true,
            "zero_grad" => self.zero_grad = true,
            "step" => self.step = true,
            "param_groups" => self.param_groups = true,
            "backward" if called && with_arguments => self.backward_of = true,
            "backward" => self.backward = true,
            "scale" | "unscale_" => self.scale = true,
            "update" => self.update = true,
            "accumulate" | "gather_for_metrics" | "unwrap_model" | "is_main_process" | "wait_for_everyone" => {
                self.accelerator = true;
            }
            "item" | "detach" if called => self.item = true,
            _ => {}
        }
    }

    fn verdict(&self) -> Option<Kind> {
        match self {
            s if s.accelerator => Some(Kind::Accelerator),
            s if s.scale && s.step => Some(Kind::Scaler),
            s if s.param_groups || (s.zero_grad && s.step && !s.module) => Some(Kind::Optimizer),
            s if s.backward_of && s.step => Some(Kind::Engine),
            s if s.backward && !s.module => Some(Kind::Loss),
            s if s.module && (s.called || !s.iterated) && !s.step => Some(Kind::Module),
            s if s.loads && s.called && !s.step => Some(Kind::Module),
            s if s.item && !s.called && !s.iterated => Some(Kind::Tensor),
            _ => None,
        }
    }
}

/// What people call things. Only where nothing else is known.
pub(super) fn by_name(name: &str) -> Option<Kind> {
    let lower = name.trim_start_matches('_').to_ascii_lowercase();
    let ends = |end: &str| lower == end || lower.strip_suffix(end).is_some_and(|rest| rest.ends_with('_'));
    let starts = |start: &str| lower.strip_prefix(start).is_some_and(|rest| rest.starts_with('_'));
    let any = |words: &[&str]| words.iter().any(|word| ends(word));
    Some(match &lower[..] {
        "lr_scheduler" | "scheduler" => Kind::Scheduler,
        "g" | "d" if name.starts_with(['G', 'D']) => Kind::Module,
        "netg" | "netd" => Kind::Module,
        _ if any(&["optimizer", "optim", "opt", "optimiser"]) || starts("optimizer") || starts("opt") => {
            Kind::Optimizer
        }
        _ if any(&["criterion", "loss_fn", "loss_func", "loss_function", "criterion_fn", "lossfn"]) => Kind::Criterion,
        _ if any(&["bce", "mse", "kd"]) || starts("criterion") => Kind::Criterion,
        _ if any(&["scaler", "grad_scaler", "gradscaler"]) => Kind::Scaler,
        _ if any(&["loader", "dataloader", "trainloader", "testloader", "valloader", "data_loader"]) => Kind::Loader,
        _ if lower.ends_with("loader") || ends("dl") => Kind::Loader,
        _ if any(&["dataset", "ds", "train_set", "val_set", "test_set"]) => Kind::Dataset,
        _ if any(&["accelerator"]) => Kind::Accelerator,
        _ if any(&["fabric"]) => Kind::Fabric,
        _ if any(&["model_engine"]) => Kind::Engine,
        _ if any(&["trainer"]) => Kind::Trainer,
        _ if any(&["tokenizer", "processor", "tok"]) => Kind::Tokenizer,
        _ if any(&["pipe", "pipeline"]) => Kind::Pipeline,
        _ if any(&["loss"]) || (starts("loss") && !lower.ends_with('s') && !starts("loss_weight")) => Kind::Loss,
        _ if any(MODULES) => Kind::Module,
        _ => return None,
    })
}

const MODULES: &[&str] = &[
    "model",
    "net",
    "network",
    "encoder",
    "decoder",
    "backbone",
    "policy",
    "teacher",
    "student",
    "generator",
    "discriminator",
    "critic",
    "actor",
    "unet",
    "vae",
    "rnn",
    "lstm",
    "gru",
    "classifier",
    "transformer",
    "vgg",
    "resnet",
    "bert",
    "ema_model",
    "policy_net",
    "target_net",
    "student_model",
    "llm",
    "mha",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_break_ties() {
        for (name, kind) in [
            ("model", Kind::Module),
            ("student_model", Kind::Module),
            ("opt_d", Kind::Optimizer),
            ("train_loader", Kind::Loader),
            ("criterion", Kind::Criterion),
            ("total_loss", Kind::Loss),
            ("loss_d", Kind::Loss),
            ("netG", Kind::Module),
        ] {
            assert_eq!(by_name(name), Some(kind), "{name}");
        }
    }

    #[test]
    fn ordinary_names_say_nothing() {
        for name in ["x", "losses", "options", "models", "data", "i", "optional", "d"] {
            assert_eq!(by_name(name), None, "{name}");
        }
    }
}
