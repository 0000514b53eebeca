optimizer.zero_grad()
