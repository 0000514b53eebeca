optimizer.zero_grad(set_to_none=False)
