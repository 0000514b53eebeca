model.fc = nn.Linear(512, 10)
model.resize_token_embeddings(len(tok))
opt = torch.optim.AdamW(model.parameters())
