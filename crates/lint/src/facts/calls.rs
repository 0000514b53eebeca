//! Calls: what they give, which function of this file they call, and where a function of this file is called from.

use super::guess::by_name;
use super::kind::{UNKNOWN, Value, either, sure};
use super::scope::{ClassId, FunctionId, Set};
use super::tree::NodeId;
use super::{Facts, Kind, library};
use crate::parse::Expr;
use crate::parse::ast::ExprCall;

/// More call sites than these are not looked at.
const SITES: usize = 16;

/// Methods that torch's own objects have: `self.model.train()` is not the `train` of a class in this file.
const OF_TORCH: &[&str] = &[
    "train",
    "eval",
    "parameters",
    "to",
    "cuda",
    "cpu",
    "state_dict",
    "load_state_dict",
    "zero_grad",
    "step",
    "update",
    "backward",
];

/// By its name, because kinds may be asked for while call sites are collected.
fn is_torch_object(owner: &Expr) -> bool {
    let name = match owner {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return false,
    };
    matches!(
        by_name(name),
        Some(Kind::Module | Kind::Optimizer | Kind::Scheduler | Kind::Scaler | Kind::Loss | Kind::Criterion)
    )
}

impl<'a> Facts<'a> {
    /// What a call gives.
    pub(super) fn call_value(&self, call: &'a ExprCall) -> Value {
        if let Some(name) = self.callee(call) {
            return self.library_call(name, call);
        }
        if let Expr::Attribute(attribute) = &*call.func {
            let owner = self.value(&attribute.value);
            if let Some(value) = self.method_value(owner, attribute.attr.as_str(), call) {
                return value;
            }
        }
        let called = self.value(&call.func);
        let kind = match called.kind {
            Kind::Module | Kind::Engine => Kind::ModelOutput,
            Kind::Criterion => Kind::Loss,
            Kind::Tokenizer => Kind::Batch,
            Kind::Metric => Kind::Tensor,
            Kind::Class(class) => self.class_kind(class),
            Kind::Function(function) => {
                return self.function(function).returns.iter().map(|r| self.value(r)).fold(UNKNOWN, either);
            }
            _ => match &*call.func {
                Expr::Name(name) => return self.builtin_call(name.id.as_str(), call),
                _ => Kind::Unknown,
            },
        };
        Value { kind, sure: called.sure }
    }

    fn library_call(&self, name: &str, call: &'a ExprCall) -> Value {
        if library::passes_through(name) {
            let first = call.arguments.args.first().map_or(UNKNOWN, |a| self.value(a));
            return if first.kind == Kind::Unknown { library::call(name).map_or(UNKNOWN, sure) } else { first };
        }
        library::call(name).map_or(UNKNOWN, sure)
    }

    /// What a method of a known value gives.
    fn method_value(&self, owner: Value, name: &str, call: &'a ExprCall) -> Option<Value> {
        if let (Kind::Accelerator | Kind::Fabric, "prepare" | "setup" | "prepare_model" | "setup_dataloaders") =
            (owner.kind, name)
        {
            return call.arguments.args.first().map(|a| self.value(a));
        }
        if let ("scale", Kind::Scaler) = (name, owner.kind) {
            return Some(sure(Kind::Loss));
        }
        library::method(owner.kind, name).map(|kind| Value { kind, sure: owner.sure })
    }

    fn builtin_call(&self, name: &str, call: &'a ExprCall) -> Value {
        let first = || call.arguments.args.first().map_or(UNKNOWN, |a| self.value(a));
        match name {
            "float" | "int" | "len" | "bool" | "round" | "abs" | "min" | "max" | "id" | "hash" => sure(Kind::Number),
            "str" | "repr" | "format" | "input" => sure(Kind::Text),
            "list" | "dict" | "set" | "tuple" | "sorted" | "deque" | "defaultdict" | "OrderedDict" => {
                match first().kind {
                    Kind::Parameters => first(),
                    _ => sure(Kind::Container),
                }
            }
            "next" => match first().kind {
                Kind::Loader => sure(Kind::Batch),
                _ => UNKNOWN,
            },
            "iter" | "reversed" => first(),
            _ => UNKNOWN,
        }
    }

    /// What a class of this file makes, by its bases and, where those are unknown, by its methods.
    pub fn class_kind(&self, class: ClassId) -> Kind {
        if let Some(kind) = self.memo.classes.borrow().get(&class) {
            return *kind;
        }
        self.memo.classes.borrow_mut().insert(class, Kind::Unknown);
        let kind = self.work_out_class(class);
        self.memo.classes.borrow_mut().insert(class, kind);
        kind
    }

    fn work_out_class(&self, class: ClassId) -> Kind {
        let def = self.class(class).stmt;
        let based = def.bases().iter().find_map(|base| match self.qualified(base) {
            Some(name) => library::instance(name),
            None => match self.kind(base) {
                Kind::Class(own) => Some(self.class_kind(own)).filter(|k| *k != Kind::Unknown),
                _ => None,
            },
        });
        let kind = match based {
            Some(kind) => kind,
            None if !def.bases().is_empty() && self.method_of(class, "forward").is_some() => Kind::Module,
            None => Kind::Unknown,
        };
        let name = def.name.as_str();
        if kind == Kind::Module && (name.ends_with("Loss") || name.ends_with("Criterion")) {
            return Kind::Criterion;
        }
        kind
    }

    /// The bases of a class of this file: qualified names, also those of its own bases in this file.
    pub fn bases(&self, class: ClassId) -> Vec<&str> {
        let mut names = Vec::new();
        let mut open = vec![class];
        let mut seen = Vec::new();
        while let Some(next) = open.pop() {
            if seen.contains(&next) {
                continue;
            }
            seen.push(next);
            for base in self.class(next).stmt.bases() {
                match (self.qualified(base), self.kind(base)) {
                    (Some(name), _) => names.push(name),
                    (None, Kind::Class(own)) => open.push(own),
                    _ => {}
                }
            }
        }
        names
    }

    /// The function of this file that a call runs: by name, as a method of `self`, or as the only method of that name.
    pub fn callee_function(&self, call: &'a ExprCall) -> Option<FunctionId> {
        match &*call.func {
            Expr::Name(_) => self.defs(&call.func).iter().find_map(|def| match self.def(*def).set {
                Set::Function(id) => Some(id),
                _ => None,
            }),
            Expr::Attribute(attribute) if self.qualified(&call.func).is_none() => {
                let name = attribute.attr.as_str();
                if let Some(class) = self.self_class(&attribute.value) {
                    return self.method_of(class, name);
                }
                if OF_TORCH.contains(&name) && is_torch_object(&attribute.value) {
                    return None;
                }
                self.only_method_called(name)
            }
            _ => None,
        }
    }

    fn only_method_called(&self, name: &str) -> Option<FunctionId> {
        let methods = self.memo.methods.get_or_init(|| {
            let mut by_name = rustc_hash::FxHashMap::default();
            for (id, function) in self.functions().filter(|(_, f)| f.class.is_some()) {
                by_name.entry(function.stmt.name.as_str()).and_modify(|only| *only = None).or_insert(Some(id));
            }
            by_name
        });
        methods.get(name).copied().flatten()
    }

    /// The calls of a function in this file.
    pub fn call_sites(&self, function: FunctionId) -> Vec<&'a ExprCall> {
        let sites = self.memo.sites.get_or_init(|| self.find_sites());
        sites[function.index()].iter().filter_map(|id| self.node(*id).call()).collect()
    }

    fn find_sites(&self) -> Vec<Vec<NodeId>> {
        let mut sites = vec![Vec::new(); self.functions.len()];
        let names: rustc_hash::FxHashSet<&str> = self.functions.iter().map(|f| f.stmt.name.as_str()).collect();
        for node in self.tree.all() {
            if let Some(call) = node.call()
                && self.called_name(call).is_some_and(|name| names.contains(name))
                && let Some(function) = self.callee_function(call)
            {
                sites[function.index()].push(self.id(call));
            }
        }
        sites
    }

    /// The argument that a call gives to a parameter, counted without `self`.
    pub fn argument_for(&self, call: &'a ExprCall, function: FunctionId, index: usize) -> Option<&'a Expr> {
        let callee = self.function(function);
        let Set::Param { param, .. } = &self.def(*callee.params.get(index)?).set else { return None };
        let shift = usize::from(callee.class.is_some() && call.func.is_attribute_expr());
        let positional = index.checked_sub(shift).and_then(|at| call.arguments.find_positional(at));
        call.arguments.find_keyword(param.name.as_str()).map(|k| &k.value).or(positional)
    }

    /// What callers in this file pass for a parameter.
    pub(super) fn argument_value(&self, function: FunctionId, index: usize) -> Value {
        let sites = self.call_sites(function);
        let values = sites.iter().take(SITES).filter_map(|call| self.argument_for(call, function, index));
        values.map(|argument| self.value(argument)).fold(UNKNOWN, either)
    }
}
