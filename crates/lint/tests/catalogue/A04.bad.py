total = 0
for x, y in micro_batches:
    total = total + criterion(model(x), y)
total.backward()
