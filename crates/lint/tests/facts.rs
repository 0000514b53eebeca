//! What the semantic layer knows, written as Python: `reveal(x)  # Kind Grad` states the kind of a value and whether it
//! carries a graph. Kinds in brackets are guesses from use or name.

use lint::facts::{Facts, Loop, Set};
use lint::parse;
use lint::{Project, Source};

fn with_facts<T>(code: &str, ask: impl FnOnce(&Facts<'_>) -> T) -> T {
    let source = Source::script("case.py", code);
    let parsed = parse::script(source.text());
    assert!(!parsed.has_errors(), "{:?}", parsed.errors().collect::<Vec<_>>());
    let project = Project::default();
    ask(&Facts::new(&source, &parsed, &project).unwrap())
}

/// Compares every `reveal(x)` with the comment behind it.
fn check(code: &str) {
    with_facts(code, |facts| {
        let mut wrong = Vec::new();
        let mut seen = 0;
        for call in facts.tree().all().iter().filter_map(|n| n.call()) {
            if facts.called_name(call) != Some("reveal") {
                continue;
            }
            seen += 1;
            let asked = &call.arguments.args[0];
            let value = facts.value(asked);
            let kind = if value.sure { format!("{:?}", value.kind) } else { format!("({:?})", value.kind) };
            let known = format!("{kind} {:?}", facts.grad(asked));
            let line = facts.source.span(parse::Ranged::range(call)).line;
            let text = code.lines().nth(line - 1).unwrap();
            let expected = text.split("# ").nth(1).unwrap_or("").trim();
            let expected = if expected.contains(' ') {
                expected.to_owned()
            } else {
                format!("{expected} {:?}", facts.grad(asked))
            };
            if known != expected {
                wrong.push(format!("line {line}: `{}` is {known}, expected {expected}", facts.text(asked)));
            }
        }
        assert_eq!(seen, code.matches("reveal(").count());
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    });
}

#[test]
fn kinds_come_from_bindings() {
    check(
        r#"
import torch as t, torchvision
from torch import nn, optim as o
from torch.utils.data import DataLoader as DL
from transformers import AutoTokenizer, AutoModelForCausalLM as Auto
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(2, 2)
        self.loss = nn.MSELoss()
    def forward(self, x):
        reveal(self.fc)  # Module
        reveal(self.fc(x))  # ModelOutput Graph
        return self.loss(self.fc(x), x)

class Sub(Net): pass

reveal(o.SGD(ps))  # Optimizer
reveal(Net().cuda().eval())  # Module
reveal(t.compile(nn.parallel.DistributedDataParallel(Sub())))  # Module
reveal(DL(ds))  # Loader
reveal(AutoTokenizer.from_pretrained("x"))  # Tokenizer
reveal(AutoTokenizer.from_pretrained("x")("hi"))  # Batch Free
m = Auto.from_pretrained("x")
reveal(m)  # Module
reveal(m(ids).loss)  # Loss Graph
reveal(m(ids).logits.argmax(-1))  # Tensor Free
reveal(F.cross_entropy(m(ids), y))  # Loss Graph
reveal(torchvision.models.resnet18().parameters())  # Parameters
reveal(t.load("x"))  # Checkpoint
reveal(t.float16)  # Dtype
reveal(len(m))  # Number Free
"#,
    );
}

#[test]
fn names_and_uses_are_only_guesses() {
    check(
        r#"
def f(model, thing, other, data, x):
    thing.zero_grad()
    thing.step()
    other.eval()
    reveal(model)  # (Module)
    reveal(thing)  # (Optimizer)
    reveal(other)  # (Module)
    reveal(data)  # (Unknown) Unknown
    x.backward()
    reveal(x)  # (Loss) Graph

model = 3
reveal(model)  # Number Free
"#,
    );
}

#[test]
fn the_last_definition_counts() {
    check(
        r#"
import torch
out = model(x)
reveal(out)  # (ModelOutput) Graph
out = out.item()
reveal(out)  # (Number) Free
with torch.no_grad():
    out = model(x)
reveal(out)  # (ModelOutput) Free
if cond:
    out = model(x)
reveal(out)  # (ModelOutput) Graph
for _ in range(3):
    reveal(out)  # (ModelOutput) Graph
    out = 1
reveal(out)  # (ModelOutput) Graph
try:
    z = 1
except ValueError:
    z = "a"
    raise
reveal(z)  # Number Free
"#,
    );
}

#[test]
fn gradients_are_off_where_they_are() {
    check(
        r#"
import torch
from torch import no_grad, inference_mode as im
from contextlib import nullcontext

@torch.no_grad()
def a(model, x):
    reveal(model(x))  # (ModelOutput) Free
    with torch.enable_grad():
        reveal(model(x))  # (ModelOutput) Graph

@torch.inference_mode
def b(model, x):
    reveal(model(x))  # (ModelOutput) Free

def c(model, x):
    reveal(model(x))  # (ModelOutput) Free

def d(model, x):
    with open("f") as f, no_grad():
        c(model, x)
    with torch.set_grad_enabled(False):
        reveal(model(x))  # (ModelOutput) Free
    with im() if x else nullcontext():
        reveal(model(x))  # (ModelOutput) Free
    ctx = no_grad()
    with ctx:
        reveal(model(x))  # (ModelOutput) Free
    reveal(model(x))  # (ModelOutput) Graph
    torch.set_grad_enabled(False)
    reveal(model(x))  # (ModelOutput) Free
    torch.set_grad_enabled(True)
    reveal(model(x))  # (ModelOutput) Graph
    reveal(model.generate(x))  # (Tensor) Free
"#,
    );
}

#[test]
fn only_the_value_itself_has_the_graph() {
    check(
        r#"
import torch
args = parse()
scale = 1 / args.steps
loss = model(x).mean() * scale
reveal(args)  # (Unknown) Unknown
reveal(loss.item() * scale)  # (Unknown) Unknown
accelerator.backward(loss)
_, predicted = torch.max(model(x), 1)
reveal(predicted)  # Tensor Free
best, _ = torch.max(model(x), 1)
reveal(best)  # Tensor Graph
loss, reward = criterion(model(x))
reveal(loss)  # (Loss) Graph
reveal(reward)  # (Loss) Unknown
"#,
    );
}

#[test]
fn functions_of_the_file_are_followed() {
    check(
        r#"
import torch

def build():
    net = torch.nn.Linear(2, 2)
    return net, torch.optim.SGD(net.parameters(), 0.1)

def step(net, x):
    loss = net(x).mean()
    loss.backward()
    return loss.item()

net, opt = build()
reveal(net)  # Module
reveal(opt)  # Optimizer
loss = step(net, x)
reveal(loss)  # Number Free

def use(m, o):
    reveal(m)  # Module
    reveal(o)  # Optimizer

use(net, o=opt)
"#,
    );
}

#[test]
fn frameworks_hand_things_through() {
    check(
        r#"
from accelerate import Accelerator
import torch, deepspeed
acc = Accelerator()
reveal(acc)  # Accelerator
m, o, d = acc.prepare(torch.nn.Linear(1, 1), torch.optim.SGD(p), torch.utils.data.DataLoader(x))
reveal(m)  # Module
reveal(o)  # Optimizer
reveal(d)  # Loader
for i, (a, b) in enumerate(d):
    reveal(i)  # Number
    reveal(a)  # Tensor Free
engine, opt2, _, _ = deepspeed.initialize(model=m)
reveal(engine)  # Engine
reveal(engine(a))  # ModelOutput Graph
scaler = torch.cuda.amp.GradScaler()
reveal(scaler.scale(m(a)))  # Loss Graph
"#,
    );
}

/// What is prepared in place goes in circles: it comes from itself, and from where it was first set.
#[test]
fn what_is_prepared_in_place_is_traced_once() {
    let code = r#"
import torch
class Run:
    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.model = torch.nn.Linear(1, 1)
        self.loader = self.loader
    def train(self):
        self.model, self.loader = self.accelerator.prepare(self.model, self.loader)
        use(self.model)
        use(self.loader)
"#;
    with_facts(code, |facts| {
        let calls = facts.tree().all().iter().filter_map(|n| n.call());
        let used = calls.filter(|c| facts.called_name(c) == Some("use")).map(|c| &c.arguments.args[0]);
        let made: Vec<Vec<&str>> = used.map(|e| facts.origins(e).iter().map(|o| facts.text(*o)).collect()).collect();
        assert_eq!(made, [vec!["torch.nn.Linear(1, 1)"], vec![]]);
    });
}

#[test]
fn lightning_evaluates_without_gradients() {
    check(
        r#"
import pytorch_lightning as pl
class M(pl.LightningModule):
    def training_step(self, batch, i):
        reveal(self(batch))  # (Unknown) Unknown
        reveal(self.net(batch))  # (ModelOutput) Graph
    def validation_step(self, batch, i):
        reveal(self.net(batch))  # (ModelOutput) Free
"#,
    );
}

#[test]
fn loop_carried_names() {
    let code = "h = None\nfor x in loader:\n    out, h = rnn(x, h)\n    y = out\n    use(y)\n";
    with_facts(code, |facts| {
        let around = facts.tree().all().iter().find_map(|n| Loop::of(*n)).unwrap();
        let named = |name: &str| {
            let mut uses = facts.tree().all().iter().filter_map(|n| n.expr());
            uses.find(|e| e.as_name_expr().is_some_and(|n| n.id == *name && n.ctx.is_load())).unwrap()
        };
        assert!(facts.is_carried(named("h"), around));
        assert!(!facts.is_carried(named("y"), around));
        assert!(!facts.is_carried(named("x"), around));
        assert_eq!(facts.defs(named("h")).len(), 2);
    });
}

#[test]
fn fates_are_followed_through_names_and_functions() {
    let code = "
def total(parts):
    return sum(parts)
a = model(x)
b = a * 2
parts = []
parts.append(b)
total(parts).backward()
c = model(x)
print(c.item())
d = model(x)
torch.save(d, 'f')
e = model(x)
unknown(e)
";
    with_facts(code, |facts| {
        let fate = |name: &str| {
            let mut defs = facts.tree().all().iter().filter_map(|n| n.expr());
            let target = defs.find(|e| e.as_name_expr().is_some_and(|n| n.id == *name && n.ctx.is_store())).unwrap();
            facts.fate(facts.defined_by(target).unwrap())
        };
        assert!(fate("a").backward && fate("a").stored);
        assert!(!fate("c").backward && fate("c").read);
        assert!(fate("d").saved && !fate("d").backward);
        assert!(fate("e").passed);
    });
}

#[test]
fn imports_in_branches_and_functions_resolve() {
    let code = "
try:
    import apex.amp as amp
except ImportError:
    from torch.cuda import amp
def f():
    from torch.utils.checkpoint import checkpoint as ckpt
    def g(x):
        return ckpt(block, x)
    return amp.autocast()
";
    with_facts(code, |facts| {
        let names: Vec<Option<&str>> =
            facts.tree().all().iter().filter_map(|n| n.call()).map(|c| facts.callee(c)).collect();
        assert!(names.contains(&Some("torch.utils.checkpoint.checkpoint")), "{names:?}");
        assert!(names.iter().flatten().any(|n| n.ends_with("amp.autocast")), "{names:?}");
    });
}

#[test]
fn globals_are_shared() {
    let code = "step = 0\ndef f():\n    global step\n    step = 1\ndef g():\n    return step\n";
    with_facts(code, |facts| {
        let read = facts.tree().all().iter().filter_map(|n| n.expr()).rfind(|e| e.is_name_expr()).unwrap();
        let defs = facts.defs(read);
        assert_eq!(defs.len(), 2);
        assert!(defs.iter().all(|d| matches!(facts.def(*d).set, Set::Assign { .. })));
    });
}
