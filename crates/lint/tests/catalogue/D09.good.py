loss = ((model(x).squeeze(-1) - y) ** 2).mean()
