scaler.scale(loss).backward()
optimizer.step()
