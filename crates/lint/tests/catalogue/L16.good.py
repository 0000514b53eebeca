with torch.autograd.detect_anomaly(check_nan=True):
    debug_step()
