//! The scores of an attention written out by hand: queries, keys, scale and mask.

use lint::facts::{Facts, literal_number};
use lint::parse::ast::{CmpOp, ExprCall, Operator, UnaryOp};
use lint::parse::{Expr, Stmt};

use super::attention::peeled;

/// Where a mask leaves scores standing.
pub enum Mask {
    /// Each position sees itself and what is before it.
    Causal,
    /// An expression for `attn_mask`: true where scores stand, or what is added to them.
    Kept(String),
}

pub struct Scores<'a> {
    pub queries: &'a Expr,
    pub keys: &'a Expr,
    /// In code; nothing when it is one over the root of the width, as it is by default.
    pub scale: Option<String>,
    pub mask: Option<Mask>,
}

impl<'a> Scores<'a> {
    /// The names that queries and keys are computed from.
    pub fn names(&self, facts: &Facts<'a>) -> Vec<&'a str> {
        let inside = facts.inside(self.queries).chain(facts.inside(self.keys));
        inside.filter_map(|node| node.expr()).filter(|e| e.is_name_expr()).map(|e| facts.text(e)).collect()
    }
}

/// Both sides of a matrix product.
pub fn product<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Option<(&'a Expr, &'a Expr)> {
    match expr {
        Expr::BinOp(op) if op.op == Operator::MatMult => Some((&op.left, &op.right)),
        Expr::Call(call) => match (facts.callee(call), &call.arguments.args[..]) {
            (Some("torch.matmul" | "torch.bmm"), [left, right]) => Some((left, right)),
            (None, [right]) => match facts.method(call)? {
                (left, "matmul" | "bmm") => Some((left, right)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Reads `q @ k.transpose(-2, -1) / math.sqrt(d)` with an optional mask, through the names of its steps.
pub fn scores<'a>(facts: &Facts<'a>, expr: &'a Expr, steps: &mut Vec<&'a Stmt>) -> Option<Scores<'a>> {
    let (inner, mask) = masked(facts, expr)?;
    let inner = peeled(facts, inner, steps)?;
    let (inner, scale) = scaled(facts, inner)?;
    let inner = peeled(facts, inner, steps)?;
    let (queries, transposed_keys) = product(facts, inner)?;
    let keys = transposed(facts, transposed_keys)?;
    let scale = scale.map_or(Some("1.0".to_owned()), |scale| scale.in_code(facts, queries, keys));
    Some(Scores { queries, keys, scale, mask })
}

/// `k` of `k.transpose(-2, -1)` and `k.mT`.
fn transposed<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Option<&'a Expr> {
    if let Expr::Attribute(attribute) = expr {
        return (attribute.attr.as_str() == "mT").then_some(&*attribute.value);
    }
    let call = expr.as_call_expr()?;
    let (owner, "transpose") = facts.method(call)? else { return None };
    let [a, b] = &call.arguments.args[..] else { return None };
    matches!((dimension(a)?, dimension(b)?), (-2, -1) | (-1, -2) | (2, 3) | (3, 2)).then_some(owner)
}

fn dimension(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::UnaryOp(op) if op.op == UnaryOp::USub => Some(-(literal_number(&op.operand)? as i64)),
        _ => Some(literal_number(expr)? as i64),
    }
}

/// How scores are scaled.
enum Scale<'a> {
    /// `/ math.sqrt(width)`
    Root(&'a Expr, &'a ExprCall),
    Times(&'a Expr),
    Over(&'a Expr),
}

impl<'a> Scale<'a> {
    fn in_code(&self, facts: &Facts<'a>, queries: &'a Expr, keys: &'a Expr) -> Option<String> {
        match self {
            Scale::Root(width, _) if is_width(facts, width, queries) || is_width(facts, width, keys) => None,
            Scale::Root(_, root) => Some(format!("1 / {}", &facts.source.text()[lint::parse::Ranged::range(*root)])),
            Scale::Times(by) => Some(facts.text(*by).to_owned()),
            Scale::Over(by) => Some(format!("1 / {}", facts.text(*by))),
        }
    }
}

/// `k.size(-1)` and `k.shape[-1]` of one of the two.
fn is_width<'a>(facts: &Facts<'a>, width: &'a Expr, of: &'a Expr) -> bool {
    let text: String = facts.text(width).chars().filter(|c| !c.is_whitespace()).collect();
    let owner = facts.text(of);
    text == format!("{owner}.size(-1)") || text == format!("{owner}.shape[-1]")
}

fn scaled<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Option<(&'a Expr, Option<Scale<'a>>)> {
    let Expr::BinOp(op) = expr else { return Some((expr, None)) };
    match op.op {
        Operator::MatMult => Some((expr, None)),
        Operator::Div => {
            let root = facts.as_call_of(&op.right, &["math.sqrt", "numpy.sqrt"]);
            let by_root = root.and_then(|call| Some(Scale::Root(call.arguments.args.first()?, call)));
            let scale = by_root.or_else(|| is_number(facts, &op.right).then_some(Scale::Over(&op.right)))?;
            Some((&op.left, Some(scale)))
        }
        Operator::Mult => is_number(facts, &op.right).then_some((&*op.left, Some(Scale::Times(&op.right)))),
        _ => None,
    }
}

/// Whether an expression is surely a Python number: `scale` takes no tensors.
fn is_number<'a>(facts: &Facts<'a>, expr: &'a Expr) -> bool {
    match facts.resolve(expr) {
        Expr::NumberLiteral(_) => true,
        Expr::BinOp(op) if op.op == Operator::Pow => is_exponent(&op.right),
        Expr::BinOp(op) if op.op == Operator::Div => {
            literal_number(&op.left).is_some() || op.left.is_number_literal_expr()
        }
        Expr::Call(call) => facts.calls_any(call, &["math.sqrt", "numpy.sqrt"]),
        _ => false,
    }
}

fn is_exponent(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp(op) => op.operand.is_number_literal_expr(),
        other => other.is_number_literal_expr(),
    }
}

/// What the mask is put on, and the mask.
fn masked<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Option<(&'a Expr, Option<Mask>)> {
    match expr {
        Expr::BinOp(op) if op.op == Operator::Add => {
            let named = matches!(&*op.right, Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_));
            named.then(|| (&*op.left, Some(Mask::Kept(facts.text(&*op.right).to_owned()))))
        }
        Expr::Call(call) => match facts.method(call) {
            Some((owner, "masked_fill")) => {
                let [hidden, value] = &call.arguments.args[..] else { return None };
                is_minus_infinity(facts, value).then(|| (owner, Some(mask(facts, hidden))))
            }
            _ => Some((expr, None)),
        },
        _ => Some((expr, None)),
    }
}

fn is_minus_infinity<'a>(facts: &Facts<'a>, expr: &'a Expr) -> bool {
    let text: String = facts.text(expr).to_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
    let known =
        ["float(\"-inf\")", "float('-inf')", "-float(\"inf\")", "-float('inf')", "-torch.inf", "-math.inf", "-np.inf"];
    known.contains(&text.as_str())
}

/// The mask behind what is hidden: `mask == 0`, `~mask`, or true where nothing is seen.
fn mask<'a>(facts: &Facts<'a>, hidden: &'a Expr) -> Mask {
    let (base, shows) = match hidden {
        Expr::Compare(compare)
            if compare.ops[..] == [CmpOp::Eq] && literal_number(&compare.comparators[0]) == Some(0) =>
        {
            (&*compare.left, true)
        }
        Expr::UnaryOp(op) if op.op == UnaryOp::Invert => (&*op.operand, true),
        other => (other, false),
    };
    let triangle = triangle(facts, base);
    match (triangle, shows) {
        (Some("torch.tril"), true) | (Some("torch.triu"), false) => Mask::Causal,
        _ => Mask::Kept(kept(facts, hidden, base, shows)),
    }
}

fn kept<'a>(facts: &Facts<'a>, hidden: &'a Expr, base: &'a Expr, shows: bool) -> String {
    match (hidden, shows) {
        (Expr::Compare(_), true) => format!("{} != 0", facts.text(base)),
        (_, true) => facts.text(base).to_owned(),
        (Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) | Expr::Call(_), false) => {
            format!("~{}", facts.text(hidden))
        }
        _ => format!("~({})", facts.text(hidden)),
    }
}

/// Which triangle of ones a mask was cut from: `torch.tril` with the diagonal, `torch.triu` without it.
fn triangle<'a>(facts: &Facts<'a>, base: &'a Expr) -> Option<&'static str> {
    let mut mask = base;
    loop {
        mask = match mask {
            Expr::Subscript(subscript) => &subscript.value,
            Expr::Call(call) => match facts.method(call) {
                Some((owner, "bool" | "to" | "view" | "unsqueeze" | "expand")) => owner,
                _ => break,
            },
            _ => break,
        };
    }
    let made = match mask {
        Expr::Attribute(attribute) => buffer(facts, mask, attribute.attr.as_str())?,
        _ => facts.resolve(mask),
    };
    facts.inside(made).filter_map(|node| node.call()).find_map(|call| is_triangle(facts, call))
}

fn is_triangle<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<&'static str> {
    let of_ones = call.arguments.args.first().and_then(|a| a.as_call_expr());
    of_ones.filter(|ones| facts.calls(ones, "torch.ones"))?;
    let diagonal = call.arguments.find_argument_value("diagonal", 1).map(literal_number);
    match (facts.callee(call)?, diagonal) {
        ("torch.tril", None | Some(Some(0))) => Some("torch.tril"),
        ("torch.triu", Some(Some(1))) => Some("torch.triu"),
        _ => None,
    }
}

/// The value of `self.register_buffer("mask", value)` in the class of an attribute.
fn buffer<'a>(facts: &Facts<'a>, of: &'a Expr, name: &str) -> Option<&'a Expr> {
    let class = facts.class_of(of)?;
    facts.calls_named(&["register_buffer"]).filter(|call| facts.class_of(*call) == Some(class)).find_map(|call| {
        let known = call.arguments.args.first()?.as_string_literal_expr()?;
        (known.value.to_str() == name).then(|| call.arguments.args.get(1))?
    })
}
