chunks = []
for x in loader:
    chunks.append(encoder(x).detach())
feats = torch.cat(chunks)
