//! Why memory ran out: one cause a file. Looks at a trace and at what the error said, returns findings with evidence.
//!
//! [`explain`] is all there is to call: it works out the facts once ([`facts`]), asks every cause in [`causes`] what it
//! sees in them, ranks the answers, and adds who held the memory and what each remedy would free. [`compare`] puts
//! several recordings beside each other.

mod causes;
mod compare;
mod evidence;
mod explanation;
mod facts;
mod fixes;
mod held;
mod oom;
mod rank;

pub use compare::{Comparison, Difference, Named, Ran, beside, compare};
pub use evidence::{Evidence, Recorded};
pub use explanation::{
    Cause, Explanation, Fact, Finding, Fix, Held, HeldAt, HeldBy, HeldFor, Location, Moment, Oom, Peak,
};

use facts::Facts;

/// Names the cause, with what speaks for it, who held the memory, and what to do.
pub fn explain(evidence: &Evidence<'_>) -> Explanation {
    let facts = Facts::of(*evidence);
    let (verdict, also) = rank::ranked(&facts);
    Explanation {
        fixes: fixes::fixes(&facts, &verdict, &also),
        verdict,
        also,
        oom: oom::oom(&facts),
        peak: oom::peak(&facts),
        held: held::held(&facts),
        warnings: oom::warnings(&facts),
    }
}
