# cause: eval-grad
# cap: 1.5
# names: out, state = lstm(window, state)
# A long text is scored window by window; the state ties all the graphs together.
import torch
from torch import nn

lstm, head = nn.LSTM(256, 512, batch_first=True).cuda(), nn.Linear(512, 2000).cuda()
text = torch.randn(16, 64 * 200, 256)


def perplexity():
    lstm.eval()
    state, total = None, 0.0
    for at in range(0, text.shape[1], 64):
        window = text[:, at : at + 64].cuda()
        out, state = lstm(window, state)
        logits = head(out)
        total += logits.logsumexp(-1).mean()
    return total


perplexity()
