best = model.state_dict()
best = copy.deepcopy(model.state_dict())
