class Net(nn.Module):
    def forward(self, x):
        feat = self.body(x)
        return self.head(feat), feat
