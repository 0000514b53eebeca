action = policy(state)
self.buffer.append((state, action, reward))
