out, _ = self.mha(q, k, v)
att = (q @ k.transpose(-2, -1) / d ** 0.5).softmax(-1) @ v
