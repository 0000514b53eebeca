cls_tokens.append(hidden.detach()[:, 0])
