def forward(self, x):
    h = checkpoint(self.encoder, x, use_reentrant=True)
    return self.head(h)
