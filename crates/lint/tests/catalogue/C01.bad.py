from torch.utils.checkpoint import checkpoint
y = checkpoint(block, x)
