pos = pos.repeat(batch, 1, 1)
