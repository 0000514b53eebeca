backbone.requires_grad_(False)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
