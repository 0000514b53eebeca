//! What a value is: an optimizer, a loader, the result of calling a model. By binding first; how it is used and what it is
//! called only break ties, and then the answer says that it is not certain.

use super::scope::{ClassId, DefId, FunctionId, Path, Set};
use super::{Facts, library};
use crate::parse::Expr;
use crate::parse::ast::{ExprAttribute, ExprCall, Operator};

/// The kinds of value that rules reason about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Unknown,
    None,
    Number,
    Text,
    /// A list, dict, set, tuple or deque.
    Container,
    Device,
    Dtype,
    /// A function or class of this file, as a value.
    Function(FunctionId),
    Class(ClassId),
    /// An instance of `nn.Module` (of this file, torch, torchvision, timm, transformers, …).
    Module,
    /// What calling a module gave: a tensor, a tuple or an output object.
    ModelOutput,
    /// A loss function: `nn.CrossEntropyLoss()`.
    Criterion,
    /// What a criterion gave, `.loss` of a model output, or anything that `backward` is called on.
    Loss,
    /// `model.parameters()` and its like.
    Parameters,
    Optimizer,
    Scheduler,
    Scaler,
    Loader,
    Dataset,
    /// What a loader yields, or a tokenizer gives.
    Batch,
    Tensor,
    /// A NumPy array.
    Array,
    StateDict,
    /// What `torch.load` gave.
    Checkpoint,
    Accelerator,
    Fabric,
    /// A DeepSpeed engine.
    Engine,
    /// A Hugging Face or trl trainer.
    Trainer,
    TrainingArguments,
    LightningTrainer,
    /// A tokenizer, processor or feature extractor.
    Tokenizer,
    Config,
    /// A diffusers or transformers pipeline.
    Pipeline,
    Metric,
    Autocast,
    /// A context that switches gradients off.
    NoGrad,
    /// A multiprocessing queue or pipe.
    Queue,
    Logger,
}

impl Kind {
    /// A module; criteria are modules too.
    pub fn is_module(self) -> bool {
        matches!(self, Kind::Module | Kind::Criterion)
    }

    /// A tensor, or an object made of tensors.
    pub fn is_tensor(self) -> bool {
        matches!(self, Kind::Tensor | Kind::Loss | Kind::ModelOutput | Kind::Batch)
    }
}

/// A kind, and whether the binding proves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub kind: Kind,
    pub sure: bool,
}

pub(super) const fn sure(kind: Kind) -> Value {
    Value { kind, sure: true }
}

pub(super) const UNKNOWN: Value = Value { kind: Kind::Unknown, sure: false };

impl<'a> Facts<'a> {
    /// What an expression evaluates to.
    pub fn kind(&self, expr: &'a Expr) -> Kind {
        self.value(expr).kind
    }

    /// Whether an expression is of this kind.
    pub fn is(&self, expr: &'a Expr, kind: Kind) -> bool {
        self.kind(expr) == kind
    }

    /// The kind, and whether it is proved by the binding and not guessed from use or name.
    pub fn value(&self, expr: &'a Expr) -> Value {
        if let Some(known) = literal(expr) {
            return sure(known);
        }
        let id = self.id(expr);
        if let Some(value) = self.memo.kinds.borrow().get(&id) {
            return *value;
        }
        let Some(_guard) = self.descend() else { return UNKNOWN };
        self.memo.kinds.borrow_mut().insert(id, UNKNOWN);
        let value = self.work_out(expr);
        self.memo.kinds.borrow_mut().insert(id, value);
        value
    }

    fn work_out(&self, expr: &'a Expr) -> Value {
        match expr {
            Expr::Name(_) => self.named_value(expr),
            Expr::Attribute(attribute) => self.attribute_value(expr, attribute),
            Expr::Call(call) => self.call_value(call),
            Expr::BinOp(op) => combine(op.op, self.value(&op.left), self.value(&op.right)),
            Expr::UnaryOp(op) => self.value(&op.operand),
            Expr::Compare(compare) => match self.kind(&compare.left).is_tensor() {
                true => sure(Kind::Tensor),
                false => UNKNOWN,
            },
            Expr::If(branch) => either(self.value(&branch.body), self.value(&branch.orelse)),
            Expr::BoolOp(op) => op.values.iter().map(|v| self.value(v)).fold(UNKNOWN, either),
            Expr::Subscript(subscript) => self.element(self.value(&subscript.value)),
            Expr::Await(inner) => self.value(&inner.value),
            Expr::Starred(inner) => self.value(&inner.value),
            Expr::Named(named) => self.value(&named.value),
            _ => UNKNOWN,
        }
    }

    fn named_value(&self, expr: &'a Expr) -> Value {
        let known = self.defs(expr).iter().map(|def| self.def_value(*def)).fold(UNKNOWN, either);
        if known.kind != Kind::Unknown {
            return known;
        }
        self.qualified(expr).and_then(library::constant).map_or_else(|| self.guess(expr), sure)
    }

    fn attribute_value(&self, expr: &'a Expr, attribute: &'a ExprAttribute) -> Value {
        if let Some(name) = self.qualified(expr) {
            return library::constant(name).map_or(UNKNOWN, sure);
        }
        let known = self.defs(expr).iter().map(|def| self.def_value(*def)).fold(UNKNOWN, either);
        if known.kind != Kind::Unknown {
            return known;
        }
        let owner = self.value(&attribute.value);
        match library::attribute(owner.kind, attribute.attr.as_str()) {
            Some(kind) => Value { kind, sure: owner.sure },
            None => self.guess(expr),
        }
    }

    /// What a definition sets its place to.
    pub fn def_value(&self, def: DefId) -> Value {
        if let Some(value) = self.memo.def_kinds.borrow().get(&def) {
            return *value;
        }
        let Some(_guard) = self.descend() else { return UNKNOWN };
        self.memo.def_kinds.borrow_mut().insert(def, UNKNOWN);
        let value = self.work_out_def(def);
        self.memo.def_kinds.borrow_mut().insert(def, value);
        value
    }

    fn work_out_def(&self, def: DefId) -> Value {
        match &self.def(def).set {
            Set::Assign { value, path } => self.part(value, *path),
            Set::Augmented { stmt, before } => {
                let before = self.real_defs(*before).iter().map(|d| self.def_value(*d)).fold(UNKNOWN, either);
                combine(stmt.op, before, self.value(&stmt.value))
            }
            Set::Each { iter, path } => self.each(iter, *path),
            Set::With { item, path } if path.is_whole() => self.value(&item.context_expr),
            Set::Param { function, index, param, default } => {
                let annotated = param.annotation().and_then(|a| self.annotated(a));
                let default = default.map_or(UNKNOWN, |d| self.value(d));
                annotated.map_or_else(|| either(self.argument_value(*function, *index), default), sure)
            }
            Set::Function(id) => sure(Kind::Function(*id)),
            Set::Class(id) => sure(Kind::Class(*id)),
            Set::Declared { annotation } => self.annotated(annotation).map_or(UNKNOWN, sure),
            _ => UNKNOWN,
        }
    }

    /// What an annotation says: `model: nn.Module`, `loader: Optional[DataLoader]`, `net: "Net"`.
    fn annotated(&self, annotation: &'a Expr) -> Option<Kind> {
        match annotation {
            Expr::Name(_) | Expr::Attribute(_) => match self.qualified(annotation) {
                Some(name) => library::instance(name),
                None => match self.value(annotation).kind {
                    Kind::Class(class) => Some(self.class_kind(class)).filter(|k| *k != Kind::Unknown),
                    _ => library::builtin_type(self.text(annotation)),
                },
            },
            Expr::Subscript(subscript) => match &*subscript.slice {
                inner @ (Expr::Name(_) | Expr::Attribute(_)) if self.text(&*subscript.value).ends_with("Optional") => {
                    self.annotated(inner)
                }
                _ => self.annotated(&subscript.value),
            },
            Expr::BinOp(op) if op.op == Operator::BitOr => {
                self.annotated(&op.left).or_else(|| self.annotated(&op.right))
            }
            _ => None,
        }
    }

    /// One part of an unpacked value.
    pub(super) fn part(&self, value: &'a Expr, path: Path) -> Value {
        let Some(index) = path.first() else { return self.value(value) };
        match value {
            Expr::Tuple(tuple) => tuple.elts.get(index).map_or(UNKNOWN, |e| self.part(e, path.rest())),
            Expr::List(list) => list.elts.get(index).map_or(UNKNOWN, |e| self.part(e, path.rest())),
            Expr::Call(call) => self.call_part(call, index, path),
            _ => self.element(self.value(value)),
        }
    }

    fn call_part(&self, call: &'a ExprCall, index: usize, path: Path) -> Value {
        if let Some((owner, "prepare" | "setup" | "setup_dataloaders" | "prepare_model")) = self.method(call)
            && matches!(self.kind(owner), Kind::Accelerator | Kind::Fabric)
        {
            return call.arguments.args.get(index).map_or(UNKNOWN, |a| self.value(a));
        }
        if self.calls(call, "deepspeed.initialize") {
            let parts = [Kind::Engine, Kind::Optimizer, Kind::Loader, Kind::Scheduler];
            return parts.get(index).map_or(UNKNOWN, |k| sure(*k));
        }
        if let Kind::Function(function) = self.kind(&call.func) {
            let returns = &self.function(function).returns;
            return returns.iter().map(|r| self.part(r, path)).fold(UNKNOWN, either);
        }
        self.element(self.call_value(call))
    }

    /// What one element of a value is.
    fn element(&self, whole: Value) -> Value {
        match whole.kind {
            Kind::Batch | Kind::Tensor => Value { kind: Kind::Tensor, ..whole },
            Kind::ModelOutput | Kind::Dataset | Kind::Checkpoint | Kind::Loss | Kind::Array => whole,
            Kind::StateDict => Value { kind: Kind::Tensor, ..whole },
            _ => UNKNOWN,
        }
    }

    /// What a loop's target gets: an element of what it goes over, or a part of one.
    fn each(&self, iter: &'a Expr, path: Path) -> Value {
        let turns = self.turns(iter);
        if let (Some(_), Some(first)) = (turns.counted, path.first()) {
            return if first == 0 { sure(Kind::Number) } else { self.each_of(turns.over, path.rest()) };
        }
        if let Expr::Call(call) = turns.over
            && let (Some("zip"), Some(first)) = (self.called_name(call), path.first())
        {
            return call.arguments.args.get(first).map_or(UNKNOWN, |a| self.each_of(self.turns(a).over, path.rest()));
        }
        self.each_of(turns.over, path)
    }

    fn each_of(&self, over: &'a Expr, path: Path) -> Value {
        if let Expr::Call(call) = over {
            match self.called_name(call) {
                Some("range") => return sure(Kind::Number),
                Some("named_parameters" | "named_modules" | "named_children" | "items") if path.first() == Some(0) => {
                    return sure(Kind::Text);
                }
                Some("named_parameters") => return sure(Kind::Tensor),
                Some("modules" | "children" | "named_modules" | "named_children") => return sure(Kind::Module),
                _ => {}
            }
        }
        let whole = self.value(over);
        match whole.kind {
            Kind::Loader | Kind::Dataset if path.is_whole() => Value { kind: Kind::Batch, ..whole },
            Kind::Loader | Kind::Dataset | Kind::Parameters => Value { kind: Kind::Tensor, ..whole },
            Kind::StateDict => Value { kind: Kind::Tensor, ..whole },
            _ => self.element(whole),
        }
    }
}

fn literal(expr: &Expr) -> Option<Kind> {
    Some(match expr {
        Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) => Kind::Number,
        Expr::StringLiteral(_) | Expr::FString(_) | Expr::BytesLiteral(_) => Kind::Text,
        Expr::NoneLiteral(_) => Kind::None,
        Expr::List(_) | Expr::Dict(_) | Expr::Set(_) | Expr::Tuple(_) => Kind::Container,
        Expr::ListComp(_) | Expr::DictComp(_) | Expr::SetComp(_) | Expr::Generator(_) => Kind::Container,
        _ => return None,
    })
}

/// What `a + b` and its like are.
fn combine(op: Operator, a: Value, b: Value) -> Value {
    let sure = a.sure && b.sure;
    let kind = match (a.kind, b.kind) {
        (Kind::Loss, _) | (_, Kind::Loss) => Kind::Loss,
        (a, b) if a.is_tensor() || b.is_tensor() => Kind::Tensor,
        (Kind::Text, _) if op == Operator::Mod => Kind::Text,
        (Kind::Array, _) | (_, Kind::Array) => Kind::Array,
        (a, b) if a == b => a,
        _ => Kind::Unknown,
    };
    Value { kind, sure }
}

/// One value or the other: `None` and numbers give way (`total = 0` before the loop, a loss inside it).
pub(super) fn either(a: Value, b: Value) -> Value {
    let weight = |v: Value| match v.kind {
        Kind::Unknown => 0,
        Kind::None => 1,
        Kind::Number => 2,
        Kind::Container | Kind::Text => 3,
        Kind::Loss => 5,
        _ => 4,
    };
    match weight(b) > weight(a) {
        true => b,
        false => a,
    }
}
