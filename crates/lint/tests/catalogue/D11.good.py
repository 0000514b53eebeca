ckpt = torch.load(path, map_location="cpu")
model.load_state_dict(ckpt["model"])
del ckpt
train(model)
