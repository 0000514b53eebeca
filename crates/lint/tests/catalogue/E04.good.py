model.eval()
optimizer.zero_grad()
