with torch.inference_mode():
    for _ in range(max_new):
        out = model(ids, past_key_values=past, logits_to_keep=1)
        past = out.past_key_values
        ids = out.logits[:, -1:].argmax(-1)
