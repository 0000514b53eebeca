//! ## What it finds
//!
//! A web route that loads a model for every request, and a server that runs a file with a model on the GPU in several processes.
//!
//! ## Why
//!
//! Requests that overlap hold one copy of the model each, and each waits for it to be read: the GPU is full with the second
//! or third user.
//!
//! ## Bad
//!
//! ```python
//! @app.post("/predict")
//! def predict(req):
//!     model = AutoModel.from_pretrained(NAME).cuda()
//!     return model(**req)
//! ```
//!
//! ## Good
//!
//! ```python
//! model = AutoModel.from_pretrained(NAME).cuda().eval()
//! @app.post("/predict")
//! @torch.inference_mode()
//! def predict(req):
//!     return model(**req)
//! ```
//!
//! ## Fix
//!
//! None: where the model should be loaded depends on the server.
//!
//! ## References
//!
//! - benoitc/gunicorn#2007, fastapi/fastapi#2425

use crate::facts::{Facts, Kind, Node, literal_number};
use crate::finding::Severity;
use crate::parse::Stmt;
use crate::parse::ast::{Decorator, ExprCall};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D20",
    name: "server-replicates-model",
    severity: Severity::Error,
    wants: &[
        Want::Named("from_pretrained"),
        Want::Call("torch.hub.load"),
        Want::Call("transformers.pipeline"),
        Want::Named("run"),
    ],
    check,
    ..Rule::DEFAULT
};

const ROUTES: &[&str] = &["route", "get", "post", "put", "websocket", "api_route"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    if facts.called_name(call) == Some("run") {
        return check_server(facts, call, sink);
    }
    let Some(function) = facts.function_of(call) else { return };
    let Some(expr) = node.expr() else { return };
    if !function.stmt.decorator_list.iter().any(|d| is_route(facts, d)) || is_kept(facts, call) {
        return;
    }
    if matches!(facts.kind(expr), Kind::Module | Kind::Pipeline) {
        sink.report(call, "this route loads a model for every request: requests that overlap hold a copy each");
    }
}

/// `app.run(debug=True)` of Flask, `uvicorn.run("app:app", workers=4)`: further processes that load the file's model, too.
fn check_server<'a>(facts: &Facts<'a>, call: &'a ExprCall, sink: &mut Sink<'_>) {
    let flask =
        facts.method(call).and_then(|(app, _)| facts.constructor(app)).is_some_and(|c| facts.calls(c, "flask.Flask"));
    let reloads = flask && facts.switches_on(call, "debug") && call.arguments.find_keyword("use_reloader").is_none();
    let workers = call.arguments.find_keyword("workers").and_then(|k| literal_number(&k.value)).filter(|n| *n > 1);
    let copies = match (facts.calls(call, "uvicorn.run"), workers, reloads) {
        (true, Some(workers), _) => workers,
        (_, _, true) => 2,
        _ => return,
    };
    let at_margin = |c: &'a ExprCall| facts.function_id(c).is_none() && facts.surely_sent_to_gpu(c);
    if facts.tree().all().iter().filter_map(|n| n.call()).any(at_margin) {
        let why = if reloads { "the reloader runs the file twice" } else { "each worker runs the file" };
        sink.report(call, format!("{why}: {copies} copies of what it puts on the GPU"));
    }
}

/// `@app.post("/predict")`
fn is_route<'a>(facts: &Facts<'a>, decorator: &'a Decorator) -> bool {
    let Some(call) = decorator.expression.as_call_expr() else { return false };
    let on_path = call.arguments.args.first().is_some_and(|a| a.is_string_literal_expr());
    on_path && call.func.is_attribute_expr() && facts.called_name(call).is_some_and(|name| ROUTES.contains(&name))
}

/// Loaded once, under a condition, or into something that outlives the request.
fn is_kept<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.ancestors_here(call).any(|a| matches!(a, Node::Stmt(Stmt::If(_))))
}
