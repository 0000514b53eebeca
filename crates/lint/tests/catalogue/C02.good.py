def forward(self, x):
    h = checkpoint(self.encoder, x, use_reentrant=False)
    return self.head(h)
