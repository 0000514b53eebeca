pos = pos.expand(batch, -1, -1)
