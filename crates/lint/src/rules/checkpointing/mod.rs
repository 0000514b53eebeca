//! Activation checkpointing (C).

crate::registry::rules![
    c01_checkpoint_no_use_reentrant,
    c02_reentrant_input_without_grad,
    c03_checkpointing_in_eval_mode,
    c04_checkpointing_with_use_cache,
    c05_peft_checkpointing_no_input_grads,
];
