//! One file per command. Each turns its arguments into an answer and an exit status.

pub mod check;
pub mod doctor;
pub mod explain;
pub mod gpus;
pub mod plan;
pub mod r#try;
pub mod view;
