//! Lays a recording out for the eye: levels of detail, tiles, and the page that draws them.
//!
//! A [`View`] is made once from one or more [`Run`]s and then answers questions: it takes a path and a query and gives
//! bytes, and knows nothing of sockets. The page asks for *tiles*, pieces of the picture that are already reduced to
//! the columns of a screen, so that it stays small and fast whatever the size of the file. [`View::save`] puts page and
//! answers into one file.

mod axis;
mod detail;
mod error;
mod grouping;
mod layer;
mod lives;
mod map;
mod model;
mod moment;
mod page;
mod pyramid;
mod request;
mod saved;
mod search;
mod series;
mod site;
mod tile;
mod view;

pub use error::Error;
pub use view::{Response, Run, View};
