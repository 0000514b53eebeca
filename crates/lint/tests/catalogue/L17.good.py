logger.info("loss %.4f", loss.item())
history["loss"].append(loss.item())
plt.plot(history["loss"])
