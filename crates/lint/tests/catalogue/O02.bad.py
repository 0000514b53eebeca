try:
    step(batch)
except RuntimeError as e:
    errors.append(e)
