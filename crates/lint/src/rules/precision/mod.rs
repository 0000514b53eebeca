//! Mixed precision (P).

crate::registry::rules![
    p01_half_with_gradscaler,
    p02_clip_before_unscale,
    p03_optimizer_step_bypasses_scaler,
    p04_scaler_update_missing,
    p05_backward_under_autocast,
    p06_fp16_autocast_without_scaler,
    p07_gradscaler_with_bf16,
    p08_deprecated_cuda_amp,
    p09_pure_fp16_adam,
    p10_cast_after_move,
];
