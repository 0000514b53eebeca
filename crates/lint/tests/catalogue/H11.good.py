caches[user] = StaticCache(config=model.config, max_cache_len=2048)
