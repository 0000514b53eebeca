//! Models and optimizers (M).

crate::registry::rules![
    m01_module_requires_grad_attr,
    m02_teacher_with_grad,
    m03_ema_without_no_grad,
    m04_aux_net_not_frozen,
    m05_gan_d_step_no_detach,
    m06_optimizer_before_parameters_change,
    m07_frozen_params_in_optimizer,
    m08_set_to_none_false,
    m09_foreach_optimizer_peak,
    m11_lbfgs_history,
    m12_optimizer_in_loop,
    m13_ddp_double_gradients,
];
