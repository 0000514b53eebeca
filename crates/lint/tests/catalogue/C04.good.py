model.gradient_checkpointing_enable()
model.config.use_cache = False
out = model(ids, labels=ids)
