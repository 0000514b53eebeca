outs.append(model.generate(**enc, return_dict_in_generate=True, output_scores=True, output_hidden_states=True))
