model = DDP(Net().cuda(local_rank), device_ids=[local_rank])
