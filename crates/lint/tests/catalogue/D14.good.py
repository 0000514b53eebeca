torch.cuda.set_device(local_rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
model = DDP(Net().cuda(local_rank), device_ids=[local_rank])
