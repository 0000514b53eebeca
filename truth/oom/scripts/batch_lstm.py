# cause: batch
# cap: 5
# names: out, _ = self.lstm(self.embed(tokens))
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20000, 512)
        self.lstm = nn.LSTM(512, 768, num_layers=3, batch_first=True, dropout=0.2)
        self.head = nn.Linear(768, 64)

    def forward(self, tokens):
        out, _ = self.lstm(self.embed(tokens))
        return self.head(out)


def main():
    torch.manual_seed(0)
    tagger = Tagger().to("cuda")
    optimizer = torch.optim.RMSprop(tagger.parameters())
    for _ in range(10):
        tokens = torch.randint(0, 20000, (1536, 128), device="cuda")
        tags = torch.randint(0, 64, (1536, 128), device="cuda")
        loss = nn.functional.cross_entropy(tagger(tokens).transpose(1, 2), tags)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
