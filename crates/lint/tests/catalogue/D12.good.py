best = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
