for _ in range(max_new):
    out = model(ids, past_key_values=past)
    past = out.past_key_values
    ids = out.logits[:, -1:].argmax(-1)
