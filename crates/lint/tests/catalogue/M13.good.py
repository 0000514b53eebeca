model = DDP(model, device_ids=[rank], gradient_as_bucket_view=True)
