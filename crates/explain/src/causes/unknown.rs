//! `unknown`: nothing explains enough, and what is missing to know more.

use crate::causes::said;
use crate::facts::Facts;
use crate::{Cause, Finding};

pub(crate) fn unknown(facts: &Facts<'_>) -> Finding {
    let (summary, missing) = match (&facts.traced, facts.evidence.crash) {
        (Some(traced), _) if !traced.readings.has_stacks() => (
            "the recording has no stacks, so nobody can say who asked for the memory",
            "record with torch.cuda.memory._record_memory_history(stacks=\"all\")",
        ),
        (Some(_), _) => (
            "no single cause explains most of the memory",
            "look at who held it, below; a recording from the start of the run, or `oomph try --save`, shows more",
        ),
        (None, Some(_)) => (
            "the message alone does not say who held the memory",
            "record a snapshot: torch.cuda.memory._record_memory_history() first, _dump_snapshot(FILE) after the error",
        ),
        (None, None) => (
            "there is neither a trace nor an error to look at",
            "record a snapshot: torch.cuda.memory._record_memory_history() first, _dump_snapshot(FILE) at the end",
        ),
    };
    Finding { cause: Cause::Unknown, confidence: 0.0, summary: summary.to_owned(), evidence: vec![said(missing)] }
}
