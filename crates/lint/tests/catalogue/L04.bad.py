losses.append(loss.item)
