backbone.requires_grad_(False)
opt = torch.optim.AdamW(model.parameters())
