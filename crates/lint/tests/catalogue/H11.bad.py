caches[user] = model(ids, use_cache=True).past_key_values
