"""A word-level language model with an LSTM, gradients clipped."""

import argparse

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
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


def chunked_cross_entropy(logits, targets, chunks=16, ignore_index=-100, label_smoothing=0.0):
    """The mean cross-entropy, a part of the rows at a time: the softmax of all rows never exists as a whole."""
    options = {"reduction": "sum", "ignore_index": ignore_index, "label_smoothing": label_smoothing}

    def part(logits, targets):
        return checkpoint(nn.functional.cross_entropy, logits, targets, use_reentrant=False, **options)

    total = sum(map(part, logits.chunk(chunks), targets.chunk(chunks)))
    return total / (targets != ignore_index).sum()


def main():
    args = parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = Text(args.steps * args.batch_size, args.length, args.vocabulary)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True)

    model = LanguageModel(args.vocabulary, args.width, args.layers, args.dropout).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    model.train()
    for step, (words, targets) in enumerate(loader):
        words, targets = words.to(device), targets.to(device)
        optimizer.zero_grad()
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = model(words)
                loss = chunked_cross_entropy(logits.reshape(-1, args.vocabulary), targets.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
