loss = ((model(x) - y) ** 2).mean()
