losses.append(loss.item())
