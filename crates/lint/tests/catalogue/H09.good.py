next_logits = model(ids, logits_to_keep=1).logits[:, -1].float()
logp = model(ids, logits_to_keep=n_answer).logits.log_softmax(-1, dtype=torch.float32)
