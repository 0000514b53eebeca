with torch.no_grad():
    for e, p in zip(ema, model.parameters()):
        e.lerp_(p, 1 - decay)
