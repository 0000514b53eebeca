//! Hugging Face (H).

crate::registry::rules![
    h01_trainer_eval_keeps_logits,
    h02_bnb_unknown_kwarg,
    h03_bnb_4bit_fp32_compute,
    h04_removed_load_in_kwargs,
    h05_train_purely_quantised,
    h06_missing_dtype,
    h07_device_map_auto_in_training,
    h08_partial_device_map,
    h09_full_sequence_logits,
    h10_return_everything,
    h11_kv_cache_hoard,
    h12_training_arguments_unknown,
    h13_wrong_api_gradient_checkpointing,
    h14_offload_and_cuda,
];
