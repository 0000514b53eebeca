//! Where models and optimizers are made: their calls changed, or lines put behind them.

use std::path::PathBuf;

use lint::facts::Facts;
use lint::fix::edit::Edit;
use lint::parse::ast::ExprCall;
use lint::parse::{Expr, Ranged, Stmt, TextRange};

use super::draft::{Page, is_the_users};
use super::{Draft, arguments, names};
use crate::cannot::CannotWrite;
use crate::remedies::{main_model, main_optimizer};
use crate::script::{Optimizer, Place};

/// Whether a framework made the optimizer, and not the user's code.
pub fn optimizer_is_the_librarys(draft: &Draft<'_>) -> bool {
    let place = main_optimizer(draft.script).and_then(|o| o.made_at.as_ref());
    place.is_none_or(|place| !is_the_users(place.file.as_ref()))
}

/// The user's lines that make optimizers of these classes.
fn optimizers(draft: &Draft<'_>, classes: &[&str]) -> Vec<(Optimizer, Place)> {
    let all = draft.script.optimizers.iter().filter(|o| classes.is_empty() || classes.contains(&o.class.as_str()));
    let placed = all.filter_map(|o| o.made_at.clone().map(|place| (o.clone(), place)));
    placed.filter(|(_, place)| is_the_users(place.file.as_ref())).collect()
}

/// Changes the calls that make the optimizers.
fn edit_optimizers(
    draft: &mut Draft<'_>,
    classes: &[&str],
    instruction: &str,
    change: impl for<'f, 'a> Fn(&Facts<'a>, &'a ExprCall, &str) -> Option<Vec<Edit>>,
) -> Result<(), CannotWrite> {
    let made = optimizers(draft, classes);
    let hand = |why: String| CannotWrite::new(why, instruction);
    if made.is_empty() {
        return Err(hand("where the optimizer is made was not seen".to_owned()));
    }
    for (optimizer, place) in made {
        draft.edit(&PathBuf::from(&place.file), |page| {
            let call = arguments::call_at(&page, place.line, &[&optimizer.class]);
            let edits = call.and_then(|call| change(page.facts, call, &optimizer.class));
            let why = || format!("how {} is made at line {} was not recognised", optimizer.class, place.line);
            edits.ok_or_else(|| hand(why()))
        })?;
    }
    Ok(())
}

/// Gives a keyword of the optimizers a value, in place of others that contradict it.
pub fn set_optimizer_keyword(
    draft: &mut Draft<'_>,
    classes: &[&str],
    keyword: &str,
    value: &str,
    instead_of: &[&str],
) -> Result<(), CannotWrite> {
    let instruction = format!("Give the optimizer `{keyword}={value}`.");
    edit_optimizers(draft, classes, &instruction, |facts, call, _| {
        let old = instead_of.iter().find_map(|name| call.arguments.find_keyword(name));
        match (call.arguments.find_keyword(keyword), old) {
            (None, Some(old)) => Some(vec![Edit::replace(old.range(), format!("{keyword}={value}"))]),
            (Some(_), Some(old)) => {
                let name = old.arg.as_ref()?.as_str();
                Some(vec![arguments::set(facts, call, keyword, None, value)?, facts.remove_keyword(call, name)?])
            }
            _ => Some(vec![arguments::set(facts, call, keyword, None, value)?]),
        }
    })
}

/// Puts another class in place of the optimizers', without the keywords that it does not take.
pub fn swap_optimizer(
    draft: &mut Draft<'_>,
    module: &str,
    rename: impl Fn(&str) -> String,
    dropped: &[&str],
) -> Result<(), CannotWrite> {
    let new = main_optimizer(draft.script).map_or_else(String::new, |o| rename(&o.class));
    let instruction = format!("Make the optimizer with `{module}.{new}`.");
    edit_optimizers(draft, &[], &instruction, |facts, call, class| {
        if call.arguments.args.len() > 2 || arguments::has_unpacked(call) {
            return None;
        }
        let new = rename(class);
        let beside = beside(facts, call, module, &new);
        let (spelling, import) = beside.map_or_else(|| names::from(facts, module, &new), |spelling| (spelling, None));
        let kept = kept_arguments(facts, call, dropped);
        let text = format!("{spelling}({})", kept.join(", "));
        Some(std::iter::once(Edit::replace(call.range(), text)).chain(import).collect())
    })
}

/// `torch.optim.Adafactor` where the file writes `torch.optim.AdamW`.
fn beside(facts: &Facts<'_>, call: &ExprCall, module: &str, new: &str) -> Option<String> {
    let attribute = call.func.as_attribute_expr()?;
    (facts.qualified(&attribute.value) == Some(module)).then(|| format!("{}.{new}", facts.text(&*attribute.value)))
}

fn kept_arguments(facts: &Facts<'_>, call: &ExprCall, dropped: &[&str]) -> Vec<String> {
    let text = |range: TextRange| facts.source.text()[range].to_owned();
    let keywords = call.arguments.keywords.iter();
    let kept = keywords.filter(|k| k.arg.as_ref().is_none_or(|arg| !dropped.contains(&arg.as_str())));
    call.arguments.args.iter().map(|arg| text(arg.range())).chain(kept.map(|k| text(k.range()))).collect()
}

/// Puts a class around the optimizers that takes their class as its second argument.
pub fn wrap_optimizer(draft: &mut Draft<'_>, module: &str, wrapper: &str) -> Result<(), CannotWrite> {
    let instruction = format!("Make it with `{module}.{wrapper}(model.parameters(), torch.optim.AdamW, …)`.");
    edit_optimizers(draft, &["Adam", "AdamW"], &instruction, |facts, call, _| {
        let first = call.arguments.args.first().filter(|_| call.arguments.args.len() == 1)?;
        let (spelling, import) = names::from(facts, module, wrapper);
        let class = facts.text(&*call.func);
        let edits = [Edit::replace(call.func.range(), spelling), Edit::insert(first.end(), format!(", {class}"))];
        let dropped = ["fused", "foreach"].iter().filter_map(|name| facts.remove_keyword(call, name));
        Some(edits.into_iter().chain(dropped).chain(import).collect())
    })
}

/// The statement that makes a model, and what it is called there.
pub struct Made<'a> {
    pub stmt: &'a Stmt,
    /// `model`, `self.net`; for `return Net()` nothing.
    pub name: Option<&'a Expr>,
    pub value: &'a Expr,
}

/// The statement on a line that makes something and gives it a name.
pub fn statement_at<'a>(page: &Page<'_, 'a>, line: u64) -> Option<Made<'a>> {
    let facts = page.facts;
    let wanted = facts.source.line_of(page.anchors.at(line)?);
    let covers =
        |stmt: &&Stmt| (facts.source.line_of(stmt.start())..=facts.source.line_of(stmt.end())).contains(&wanted);
    let all = facts.tree().all().iter().filter_map(|node| node.stmt());
    all.filter(covers).filter_map(made_by).min_by_key(|made| made.stmt.range().len())
}

fn made_by(stmt: &Stmt) -> Option<Made<'_>> {
    match stmt {
        Stmt::Assign(assign) => match &assign.targets[..] {
            [name @ (Expr::Name(_) | Expr::Attribute(_))] => {
                Some(Made { stmt, name: Some(name), value: &assign.value })
            }
            _ => None,
        },
        Stmt::AnnAssign(assign) => Some(Made { stmt, name: Some(&assign.target), value: assign.value.as_deref()? }),
        Stmt::Return(ret) => Some(Made { stmt, name: None, value: ret.value.as_deref()? }),
        _ => None,
    }
}

/// Puts lines behind the statement that makes the model. `make` gets the model's name and gives the lines and other edits.
pub fn after_model(
    draft: &mut Draft<'_>,
    make: impl for<'a> Fn(&Facts<'a>, &str) -> (String, Vec<Edit>),
) -> Result<(), CannotWrite> {
    let place = main_model(draft.script).and_then(|model| model.made_at.clone());
    after_place(draft, place.as_ref(), make)
}

/// Like [`after_model`], for a model that was made on this line.
pub fn after_place(
    draft: &mut Draft<'_>,
    place: Option<&Place>,
    make: impl for<'a> Fn(&Facts<'a>, &str) -> (String, Vec<Edit>),
) -> Result<(), CannotWrite> {
    let unseen = || CannotWrite::new("where the model is made was not seen", "Add the lines where you make the model.");
    let place = place.filter(|place| is_the_users(place.file.as_ref())).ok_or_else(unseen)?;
    draft.edit(&PathBuf::from(&place.file), |page| {
        let facts = page.facts;
        let made = statement_at(&page, place.line).ok_or_else(|| not_named(place, make(facts, "model").0))?;
        let name = made.name.map_or("model", |name| facts.text(name)).to_owned();
        let (code, mut edits) = make(facts, &name);
        let put = match made.name {
            Some(_) => facts.insert_after(last_move(facts, &made), &code).map(|edit| vec![edit]),
            None => returned(facts, &made, &name, &code),
        };
        edits.extend(put.ok_or_else(|| not_named(place, code))?);
        Ok(edits)
    })
}

fn not_named(place: &Place, code: String) -> CannotWrite {
    CannotWrite::new(
        format!("the model that is made at line {} has no name there", place.line),
        format!("Write behind it:\n{code}"),
    )
}

/// `return Net()` becomes `model = Net()`, the lines, `return model`.
fn returned<'a>(facts: &Facts<'a>, made: &Made<'a>, name: &str, code: &str) -> Option<Vec<Edit>> {
    let head = TextRange::new(made.stmt.start(), made.value.start());
    let tail = facts.insert_after(made.stmt, &format!("{code}\nreturn {name}"))?;
    Some(vec![Edit::replace(head, format!("{name} = ")), tail])
}

/// The last of the statements behind it that only move or cast the model: `model = model.to(device)`.
fn last_move<'a>(facts: &Facts<'a>, made: &Made<'a>) -> &'a Stmt {
    let name = made.name.map(|name| facts.text(name)).unwrap_or_default();
    let is_move = |stmt: &&&'a Stmt| {
        let text = facts.source.text()[stmt.range()].trim();
        let call = text.strip_prefix(&format!("{name} = ")).unwrap_or(text);
        let rest = call.strip_prefix(name).unwrap_or_default();
        [".to(", ".cuda(", ".float(", ".half(", ".bfloat16(", ".train("].iter().any(|start| rest.starts_with(start))
    };
    let moves = facts.following(made.stmt).iter().take_while(|stmt| is_move(&stmt));
    moves.last().unwrap_or(made.stmt)
}

/// The user's line that makes or loads the model, or the one under its adapters.
fn loaded_at(draft: &Draft<'_>) -> Option<Place> {
    let model = main_model(draft.script)?;
    let place = model.base_made_at.as_ref().or(model.made_at.as_ref())?;
    is_the_users(place.file.as_ref()).then(|| place.clone())
}

/// Gives a keyword of the call that makes a Hugging Face model a value, or of the configuration that it is made from.
pub fn set_model_keyword(draft: &mut Draft<'_>, keyword: &str, value: &str) -> Result<(), CannotWrite> {
    let hand = || {
        CannotWrite::new(
            "the call that makes the model was not recognised",
            format!("Give `from_pretrained` or the configuration `{keyword}={value}`."),
        )
    };
    let model = main_model(draft.script).ok_or_else(hand)?;
    let place = loaded_at(draft).ok_or_else(hand)?;
    draft.edit(&PathBuf::from(&place.file), |page| {
        let facts = page.facts;
        let loading = ["from_pretrained", "from_config", "_from_config"];
        let call =
            arguments::call_at(&page, place.line, &loading).or_else(|| configuration(&page, place.line, &model.class));
        let edit = call.and_then(|call| arguments::set(facts, call, keyword, None, value));
        edit.map(|edit| vec![edit]).ok_or_else(hand)
    })
}

/// The call that made the configuration that a model is made from: `GPT2LMHeadModel(config)`.
fn configuration<'a>(page: &Page<'_, 'a>, line: u64, class: &str) -> Option<&'a ExprCall> {
    let facts = page.facts;
    let call = arguments::call_at(page, line, &[class])?;
    let given = call.arguments.find_argument_value("config", 0)?;
    let made = facts.constructor(given)?;
    facts.called_name(made).filter(|name| name.ends_with("Config") || *name == "from_pretrained")?;
    Some(made)
}

/// Puts a loop over the first blocks of the model behind the statement that makes it.
pub fn after_model_with_blocks(
    draft: &mut Draft<'_>,
    class: &str,
    count: u64,
    body: &str,
    imports: &[(&str, &str)],
) -> Result<(), CannotWrite> {
    let model = draft.script.models.iter().filter(|m| m.blocks.iter().any(|b| b.class == class));
    let model = model.max_by_key(|m| (m.trainable, m.bytes));
    let unseen =
        || CannotWrite::new(format!("blocks of class {class} were not seen"), format!("For each block: `{body}`"));
    let model = model.ok_or_else(unseen)?;
    let block = model.blocks.iter().find(|b| b.class == class).ok_or_else(unseen)?;
    let place = model.made_at.clone();
    let main = draft.main();
    let home = place.as_ref().map(|p| PathBuf::from(&p.file)).unwrap_or(main);
    let is_here = block.defined_at.as_ref().is_some_and(|d| home.as_os_str() == d.file.as_str());
    after_place(draft, place.as_ref(), |facts, name| {
        let mut edits = Vec::new();
        let list = match holder(facts, &block.container) {
            Some(path) => format!("{name}.{path}"),
            None => {
                let (class, import) = match is_here {
                    true => (class.to_owned(), None),
                    false => names::from(facts, &block.module, class),
                };
                edits.extend(import);
                format!("[module for module in {name}.modules() if isinstance(module, {class})]")
            }
        };
        let some = if count < block.count { format!("{list}[:{count}]") } else { list };
        edits.extend(imports.iter().filter_map(|(module, name)| match module.is_empty() {
            true => names::module(facts, name).1,
            false => names::from(facts, module, name).1,
        }));
        (format!("for block in {some}:\n    {body}"), edits)
    })
}

/// The path of the blocks' holder, when the file shows that it is a list that can be gone through.
fn holder(facts: &Facts<'_>, container: &str) -> Option<String> {
    let last = container.rsplit('.').next().filter(|last| !last.is_empty())?;
    if container.contains(',') || container.split('.').any(|part| part.parse::<u64>().is_ok()) {
        return None;
    }
    let is_list = facts.classes().any(|(id, _)| {
        facts.attribute_defs(id, last).into_iter().any(|def| match &facts.def(def).set {
            lint::facts::Set::Assign { value, .. } => facts
                .constructor(value)
                .is_some_and(|call| matches!(facts.callee(call), Some("torch.nn.ModuleList" | "torch.nn.Sequential"))),
            _ => false,
        })
    });
    is_list.then(|| container.to_owned())
}

/// Gives the `from_pretrained` that loads the model a keyword, whose value gets a line and a name of its own.
pub fn load_with(
    draft: &mut Draft<'_>,
    keyword: &str,
    value: &str,
    (module, name): (&str, &str),
) -> Result<(), CannotWrite> {
    let hand = || {
        CannotWrite::new(
            "the model is not loaded with `from_pretrained` on a line of yours",
            format!("Load it with `{keyword}={value}`."),
        )
    };
    let place = loaded_at(draft).ok_or_else(hand)?;
    draft.edit(&PathBuf::from(&place.file), |page| {
        let facts = page.facts;
        let call = arguments::call_at(&page, place.line, &["from_pretrained"]).ok_or_else(hand)?;
        let (spelling, import) = names::from(facts, module, name);
        let (torch, torch_import) = names::module(facts, "torch");
        let value = value.replacen(name, &spelling, 1).replace("torch.", &format!("{torch}."));
        let torch_import = torch_import.filter(|_| value.contains(&format!("{torch}.")));
        let variable = names::fresh(facts, &["quantization", "quantization_config"]);
        let put = facts.insert_before(facts.statement(call), &format!("{variable} = {value}")).ok_or_else(hand)?;
        let edit = arguments::set(facts, call, keyword, None, &variable).ok_or_else(hand)?;
        Ok([put, edit].into_iter().chain(import).chain(torch_import).collect())
    })
}
