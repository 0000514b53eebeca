//! One file per command. Each turns its arguments into an answer and an exit status.

pub mod doctor;
pub mod gpus;
pub mod r#try;
