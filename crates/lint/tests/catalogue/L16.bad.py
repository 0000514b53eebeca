torch.autograd.set_detect_anomaly(True)
torch.cuda.memory._record_memory_history()
train()
