queue.put(model(x))
