outs.append(model.generate(**enc).cpu())
