class Net(nn.Module):
    def mask(self, n):
        if self._mask is None or self._mask.size(0) < n:
            self._mask = torch.ones(n, n, device="cuda").tril()
        return self._mask[:n, :n]
