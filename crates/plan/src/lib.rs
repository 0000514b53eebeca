//! Finds the fastest remedies that fit, over measured points: what to measure next, and when to stop.
//!
//! Nothing is run here: a [`Bench`] measures what [`search`] asks for. Guesses only decide what is measured next; every number
//! in a [`Found`] was measured.

mod batch;
mod bench;
mod dial;
mod guess;
mod pool;
mod rank;
pub mod roofline;
mod search;
mod sets;
mod wish;

pub use batch::{Largest, largest_batch};
pub use bench::{Bench, Candidate, Outcome, Peak, Ran, Stopped};
pub use pool::{Pool, Rejected};
pub use search::{Effect, Found, Infeasible, Plan, search};
pub use wish::Wish;
