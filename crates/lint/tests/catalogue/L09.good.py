handle = layer.register_forward_hook(lambda m, i, o: feats.append(o.detach().cpu()))
try:
    for x in loader:
        model(x)
finally:
    handle.remove()
