scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
