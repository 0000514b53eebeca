with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(x), y)
loss.backward()
