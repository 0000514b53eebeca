model = DDP(model, device_ids=[rank], find_unused_parameters=True)
