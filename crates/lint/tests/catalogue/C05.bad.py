model = get_peft_model(base, lora)
model.gradient_checkpointing_enable({"use_reentrant": True})
