class Net(nn.Module):
    def forward(self, x):
        self.feat = self.body(x)
        return self.head(self.feat)
