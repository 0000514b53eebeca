//! The JSON format: one object, schema 1.
//!
//! Keys of schema 1 are never removed or given another meaning; new ones may be added.

use serde::Serialize;

use crate::mistake::Mistakes;

use super::{Basis, Ended, Gpu, Oom, Peak, Rank, Saved, Step, Try, Unknown, Verdict, Warning};

const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    fits: Option<bool>,
    gpu: &'a Gpu,
    torch: &'a Option<String>,
    cuda: &'a Option<String>,
    cudnn: &'a Option<String>,
    peak: &'a Option<Peak>,
    steps: &'a [Step],
    oom: &'a Option<Oom>,
    warnings: &'a [Warning],
    basis: Basis,
    seconds: f64,
    ended: Ended,
    saved: &'a [Saved],
    ranks: &'a [Rank],
    snapshot: &'a Option<String>,
    mistakes: &'a Mistakes,
    error: Option<&'a Unknown>,
}

/// The try as one JSON object, with a newline at its end.
pub fn json(tried: &Try) -> String {
    let error = match &tried.verdict {
        Verdict::Unknown(why) => Some(why),
        Verdict::Fits | Verdict::DoesNotFit => None,
    };
    let document = Document {
        schema: SCHEMA,
        fits: tried.fits(),
        gpu: &tried.gpu,
        torch: &tried.torch,
        cuda: &tried.cuda,
        cudnn: &tried.cudnn,
        peak: &tried.peak,
        steps: &tried.steps,
        oom: &tried.oom,
        warnings: &tried.warnings,
        basis: tried.basis,
        seconds: (tried.seconds * 1000.0).round() / 1000.0,
        ended: tried.ended,
        saved: &tried.saved,
        ranks: &tried.ranks,
        snapshot: &tried.snapshot,
        mistakes: &tried.mistakes,
        error,
    };
    written(&document)
}

#[derive(Serialize)]
struct Refusal<'a> {
    schema: u32,
    fits: Option<bool>,
    error: &'a Unknown,
}

/// A try that never began: the same object, with nothing in it but the reason.
pub fn refusal_json(why: &Unknown) -> String {
    written(&Refusal { schema: SCHEMA, fits: None, error: why })
}

fn written(document: &impl Serialize) -> String {
    let mut out = serde_json::to_string_pretty(document).expect("plain data always serialises");
    out.push('\n');
    out
}
