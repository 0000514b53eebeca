next_logits = model(ids).logits[:, -1].float()
logp = model(ids).logits.float().log_softmax(-1)
