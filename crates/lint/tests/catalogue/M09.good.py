opt = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
