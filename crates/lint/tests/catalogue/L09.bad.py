for x in loader:
    layer.register_forward_hook(lambda m, i, o: feats.append(o))
    model(x)
