//! cuDNN: the real library's own heuristics, asked about a card that is not there.
//!
//! PyTorch links the real cuDNN and it stays loaded; only functions that need a device are answered
//! here. Since 9.8 cuDNN can compile for a *described* device: the graph API ([`backend`]) is passed
//! on with that description, so engines and workspaces are the library's own. What it cannot say
//! without a card is answered beside it: [`attention`], and the parts of [`convolution`] workspaces
//! that depend on how many blocks the card really runs at once. The older API is in [`legacy`].

mod attention;
pub mod backend;
mod convolution;
mod derived;
mod descriptors;
mod devprop;
mod graph;
pub mod legacy;
mod real;
