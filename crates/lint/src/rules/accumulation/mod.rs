//! Gradient accumulation (A).

crate::registry::rules![
    a01_zero_grad_every_microbatch,
    a02_accum_loss_not_divided,
    a03_accum_tail_dropped,
    a04_sum_losses_then_backward,
    a05_missing_zero_grad,
    a06_model_zero_grad_in_accumulate,
    a07_zero_grad_before_step,
    a08_accum_off_by_one,
];
