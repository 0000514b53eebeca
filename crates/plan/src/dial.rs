//! Remedies that come in strengths: how memory and time go with the dial, from measured points.
//!
//! Memory is a straight line over the *share* that is left: of the rows of a batch in one pass (micro-batches), or of the
//! blocks that keep their activations (checkpointing). Time is one over the *turns*: passes a step, or blocks computed twice.

use remedies::Choice;

/// The share of the whole that is still held at this setting: 1 is as it was.
pub fn share(choice: &Choice) -> f64 {
    let number = |name: &str| choice.settings.get(name).and_then(serde_json::Value::as_f64);
    if let Some(parts) = number("parts").or(number("chunks")) {
        return 1.0 / parts.max(1.0);
    }
    if let (Some(count), Some(of)) = (number("count"), number("of")) {
        return 1.0 - count / of.max(1.0);
    }
    0.0
}

/// What time grows with.
pub fn turns(choice: &Choice) -> f64 {
    match choice.settings.get("parts").and_then(serde_json::Value::as_f64) {
        Some(parts) => parts,
        None => 1.0 - share(choice),
    }
}

/// Where no part of the dial is used.
pub fn no_turns(choice: &Choice) -> f64 {
    if choice.settings.contains_key("parts") { 1.0 } else { 0.0 }
}

/// The value at `x` on the line through two points; the nearer one's where they are one.
pub fn on_line(x: f64, (x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> f64 {
    if (x1 - x0).abs() < f64::EPSILON { y1 } else { y0 + (y1 - y0) * (x - x0) / (x1 - x0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_two_points() {
        assert_eq!(on_line(0.25, (1.0, 10.0), (0.5, 6.0)), 4.0);
        assert_eq!(on_line(0.25, (0.5, 6.0), (0.5, 6.0)), 6.0);
    }
}
