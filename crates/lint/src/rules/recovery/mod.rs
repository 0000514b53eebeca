//! Recovering from out-of-memory errors, and the allocator (O).

crate::registry::rules![
    o01_oom_recovery_in_except,
    o02_exception_object_stored,
    o03_oom_wrong_exception_class,
    o04_oom_skip_keeps_partial_grads,
    o05_empty_cache_in_hot_loop,
    o06_gc_collect_in_hot_loop,
    o07_alloc_conf_after_import,
    o08_alloc_conf_malformed,
    o09_alloc_conf_name,
    o10_fragmentation_variable_shapes,
    o11_cudnn_benchmark_variable_shapes,
];
