with torch.no_grad():
    action = policy(state)
self.buffer.append((state.cpu(), action.cpu(), reward))
