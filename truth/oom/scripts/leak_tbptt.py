# cause: leak
# cap: 2
# names: output, state = rnn(chunk, state)
# Truncated back-propagation that forgets to detach the state and silences the error with retain_graph.
import torch
from torch import nn

rnn = nn.LSTM(256, 512, 2).cuda()
readout = nn.Linear(512, 256).cuda()
optimizer = torch.optim.Adam([*rnn.parameters(), *readout.parameters()])
state = None
for _ in range(300):
    chunk = torch.randn(64, 32, 256, device="cuda")
    output, state = rnn(chunk, state)
    loss = (readout(output) - chunk).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    # No optimizer.step(): the weights are part of the graph that is kept.
    with torch.no_grad():
        readout.bias.sub_(0.01)
