//! Memory over time as a small picture: reserved as an outline, allocated filled, the refusal marked.

use std::fmt::Write;

use units::Bytes;

use crate::explained::Curve;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 240.0;
/// Room for the words at the top and the axis at the left.
const TOP: f64 = 18.0;
const LEFT: f64 = 64.0;
/// More steps than this would be a grey block.
const MOST_STEPS: usize = 120;

pub fn svg(curve: &Curve) -> String {
    let most = curve.most().max(1);
    let y = |bytes: u64| TOP + (HEIGHT - TOP) * (1.0 - bytes as f64 / most as f64);
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Memory over time, {} at most\">\n",
        HEIGHT + 18.0,
        Bytes(most)
    );
    steps(&mut out, curve);
    let allocated = path(curve, |point| y(point.allocated_bytes));
    let reserved = path(curve, |point| y(point.reserved_bytes));
    let _ = writeln!(
        out,
        "<path d=\"{allocated} L{:.1} {HEIGHT} L{LEFT} {HEIGHT} Z\" fill=\"var(--fill)\" fill-opacity=\".55\"/>",
        x(1.0)
    );
    let _ = writeln!(out, "<path d=\"{reserved}\" fill=\"none\" stroke=\"var(--ink)\" stroke-width=\"1\"/>");
    axis(&mut out, most);
    mark(&mut out, curve);
    out.push_str("</svg>\n");
    out
}

fn x(at: f64) -> f64 {
    LEFT + (WIDTH - LEFT) * at.clamp(0.0, 1.0)
}

/// Steps of a staircase: memory is held between events, not interpolated.
fn path(curve: &Curve, y: impl Fn(&crate::explained::Point) -> f64) -> String {
    let mut out = String::new();
    let mut from = 0.0;
    for point in &curve.points {
        let command = if out.is_empty() { 'M' } else { 'L' };
        let _ = write!(out, "{command}{:.1} {:.1} L{:.1} {:.1} ", x(from), y(point), x(point.at), y(point));
        from = point.at;
    }
    out.trim_end().to_owned()
}

fn steps(out: &mut String, curve: &Curve) {
    if curve.steps.len() > MOST_STEPS {
        return;
    }
    for &step in &curve.steps {
        let _ = writeln!(out, "<path d=\"M{0:.1} {TOP} V{HEIGHT}\" stroke=\"var(--rule)\"/>", x(step));
    }
}

fn axis(out: &mut String, most: u64) {
    for part in 0..=4 {
        let bytes = most / 4 * part;
        let at = TOP + (HEIGHT - TOP) * (1.0 - part as f64 / 4.0);
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            Bytes(bytes)
        );
    }
    let words = "allocated (filled) and reserved (line) over the recorded events; upright lines are steps";
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">{words}</text>", HEIGHT + 14.0);
}

fn mark(out: &mut String, curve: &Curve) {
    let Some(oom) = curve.oom else {
        return;
    };
    let x = x(oom);
    let _ = writeln!(out, "<path d=\"M{x:.1} {TOP} V{HEIGHT}\" stroke=\"var(--bad)\" stroke-width=\"2\"/>");
    let _ =
        writeln!(out, "<text x=\"{x:.1}\" y=\"12\" text-anchor=\"end\" style=\"fill:var(--bad)\">out of memory</text>");
}
