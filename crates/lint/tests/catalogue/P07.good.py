model.to(torch.bfloat16)
loss.backward()
optimizer.step()
