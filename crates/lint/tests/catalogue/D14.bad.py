dist.init_process_group("nccl")
model = DDP(Net().cuda(local_rank), device_ids=[local_rank])
