loss.backward()
optimizer.step()
optimizer.zero_grad()
