from torch.amp import GradScaler, autocast
scaler = GradScaler("cuda")
with autocast("cuda"):
    loss = model(x).mean()
