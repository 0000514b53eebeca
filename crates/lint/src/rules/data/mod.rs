//! Data, devices and shapes (D).

crate::registry::rules![
    d01_dataset_on_gpu,
    d02_cuda_in_worker,
    d03_cuda_before_fork,
    d04_pin_memory_pointless,
    d05_dataloader_arg_conflict,
    d06_list_dataset_copy_on_write,
    d07_create_then_move,
    d08_float64_on_gpu,
    d10_torch_load_no_map_location,
    d11_checkpoint_dict_kept_alive,
    d12_best_state_reference,
    d13_model_recreated_in_loop,
    d14_ddp_no_set_device,
    d15_dataparallel_imbalance,
    d16_materialised_attention,
    d17_repeat_not_expand,
    d18_pad_to_max_length,
    d19_cuda_tensor_through_queue,
    d20_server_replicates_model,
];
