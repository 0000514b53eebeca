@torch.no_grad()
def evaluate(model, loader):
    for x, y in loader:
        correct += (model(x).argmax(-1) == y).sum()
