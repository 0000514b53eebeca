grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
