auroc = torchmetrics.AUROC(task="binary", thresholds=200).cuda()
for epoch in range(n):
    for x, y in loader:
        auroc.update(model(x).detach(), y)
    auroc.compute()
    auroc.reset()
