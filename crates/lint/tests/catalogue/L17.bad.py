logger.info("loss %s", loss)
history["loss"].append(loss)
plt.plot(history["loss"])
