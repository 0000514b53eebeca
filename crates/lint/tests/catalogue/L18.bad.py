mean_loss = np.mean([l for l in losses])
arr = out.cpu().data.numpy()[0]
