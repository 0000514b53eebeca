model.gradient_checkpointing_enable()
out = model(ids, labels=ids, use_cache=True)
