//! The JSON format, schema 1.

use serde_json::json;

use super::Planned;
use crate::Unknown;

/// One object with a newline at its end.
pub fn json(planned: &Planned) -> String {
    let value = json!({
        "schema": 1,
        "gpu": planned.gpu,
        "limit_bytes": planned.limit_bytes,
        "margin_percent": planned.margin_percent,
        "as_is": planned.as_is,
        "plans": planned.plans,
        "effects": planned.effects,
        "rejected": planned.rejected,
        "infeasible": planned.infeasible,
        "largest_batch": planned.largest_batch,
        "warnings": planned.warnings,
        "mistakes": planned.mistakes,
        "tries": planned.tries,
        "seconds": (planned.seconds * 1000.0).round() / 1000.0,
        "import_seconds": planned.import_seconds,
    });
    format!("{value:#}\n")
}

/// The object for a plan that could not be sought.
pub fn refusal_json(why: &Unknown) -> String {
    let value = json!({"schema": 1, "as_is": null, "plans": [], "rejected": [], "infeasible": null, "error": why});
    format!("{value:#}\n")
}
