queue.put(model(x).detach().cpu())
