//! Evaluation and inference (E).

crate::registry::rules![
    e01_eval_without_no_grad,
    e02_eval_mode_is_not_no_grad,
    e03_bare_no_grad,
    e04_missing_call_parens,
    e05_no_grad_too_late,
    e06_grad_mode_leak,
    e07_eval_batch_larger,
    e08_decode_loop_with_grad,
];
