for e, p in zip(ema, model.parameters()):
    e = decay * e + (1 - decay) * p
