with torch.no_grad():
    for x, y in val_loader:
        logits_all.append(model(x.cuda()))
