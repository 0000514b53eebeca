auroc = torchmetrics.AUROC(task="binary").cuda()
for epoch in range(n):
    for x, y in loader:
        auroc(model(x), y)
