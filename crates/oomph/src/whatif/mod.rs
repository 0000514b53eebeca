//! What if: the recorded requests once more, through PyTorch's own allocator on the ghost, under other settings.
//!
//! Nothing is simulated. The user's Python is started with the wished settings and asks the real caching allocator for
//! every block that the recorded run asked for, in its order. What a script would have done differently (a smaller
//! cuDNN workspace on a smaller card, say) is not known and not guessed: [`Replayed`] is about these requests.

mod ask;
mod requests;
mod run;
#[cfg(test)]
mod tests;

pub use ask::{Known, Wish, ask};
