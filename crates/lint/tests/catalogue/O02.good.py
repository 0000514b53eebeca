try:
    step(batch)
except RuntimeError as e:
    errors.append(repr(e))
