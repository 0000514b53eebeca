"""A word-level language model with an LSTM, gradients clipped."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Text(Dataset):
    """A long text cut into pieces; the target is the piece moved on by a word."""

    def __init__(self, items, length, vocabulary):
        generator = torch.Generator().manual_seed(0)
        self.words = torch.randint(vocabulary, (items, length + 1), generator=generator)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        return self.words[index, :-1], self.words[index, 1:]


class LanguageModel(nn.Module):
    """Embedding, LSTM, and a distribution over the next word."""

    def __init__(self, vocabulary, width, layers, dropout):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, words):
        states, _ = self.lstm(self.dropout(self.embedding(words)))
        return self.head(self.dropout(states))


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=192)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=33278)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--clip", type=float, default=0.25)
    parser.add_argument("--steps", type=int, default=6)
    return parser.parse_args()


def main():
    args = parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = Text(args.steps * args.batch_size, args.length, args.vocabulary)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True)

    model = LanguageModel(args.vocabulary, args.width, args.layers, args.dropout).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()

    model.train()
    for step, (words, targets) in enumerate(loader):
        words, targets = words.to(device), targets.to(device)
        optimizer.zero_grad()
        logits = model(words)
        loss = criterion(logits.reshape(-1, args.vocabulary), targets.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
# oomph:
# {"script": {"models": [{"class": "LanguageModel", "made_at": "model = ", "dtypes": {"float32": 100}}],
#   "optimizers": [{"class": "Adam", "module": "torch.optim.adam", "made_at": "optimizer = "}],
#   "loaders": [{"batch_size": 192, "made_at": "loader = ", "items": 1152, "drop_last": true, "training": true}],
#   "loss": {"cross_entropy": true, "logits": [24576, 33278], "at": "loss = criterion("},
#   "loop": {"backward_at": "loss.backward", "backwards_per_step": 1, "clips": true}},
#  "plan": [{"id": "optimizer-loop"}, {"id": "chunked-loss", "settings": {"chunks": 16}}, {"id": "fp16-autocast"},
#   {"id": "micro-batch", "settings": {"parts": 4, "batch": 192, "rows": 48, "by": "loader"}}]}
