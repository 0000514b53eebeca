with torch.no_grad():
    for x, y in val_loader:
        preds_all.append(model(x.cuda()).argmax(-1).cpu())
