//! Graphs and tensors that outlive their iteration (L).

crate::registry::rules![
    l01_graph_running_sum,
    l02_graph_in_container,
    l03_cpu_without_detach,
    l04_unbound_method_value,
    l05_gpu_hoard,
    l06_cat_growth,
    l07_view_keeps_base,
    l08_module_stashes_activation,
    l09_hook_leak,
    l10_hidden_not_detached,
    l11_retain_graph,
    l12_create_graph_backward,
    l13_previous_iteration_overlap,
    l14_replay_buffer_graph,
    l15_cached_tensor_method,
    l16_debug_left_on,
    l17_logger_holds_tensor,
];
