loss.backward()
optimizer.zero_grad()
optimizer.step()
