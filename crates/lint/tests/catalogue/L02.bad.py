outs = []
for x, _ in loader:
    out = model(x)
    outs.append(out)
