for x, y in micro_batches:
    (criterion(model(x), y) / len(micro_batches)).backward()
