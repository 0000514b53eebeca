# cause: logits
# cap: 10
# names: return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 256_000


class LM(nn.Module):
    def __init__(self, dim=384):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, VOCAB, bias=False)
        self.lm_head.weight = self.tok.weight

    def forward(self, tokens, targets):
        hidden, _ = self.rnn(self.tok(tokens))
        logits = self.lm_head(hidden)
        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))


lm = LM().cuda()
sgd = torch.optim.SGD(lm.parameters(), lr=1.0)
for _ in range(3):
    text = torch.randint(0, VOCAB, (8, 513), device="cuda")
    loss = lm(text[:, :-1], text[:, 1:].contiguous())
    loss.backward()
    sgd.step()
    sgd.zero_grad()
