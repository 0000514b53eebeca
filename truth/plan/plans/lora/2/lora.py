"""LoRA on a Llama-like model of half a billion parameters: peft, a data loader, a plain loop."""

import argparse

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader, Dataset
from transformers import LlamaConfig, LlamaForCausalLM


class Answers(Dataset):
    """Instructions and answers, tokenised and cut to one length."""

    def __init__(self, items, length, vocabulary):
        generator = torch.Generator().manual_seed(0)
        self.tokens = torch.randint(vocabulary, (items, length), generator=generator)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--steps", type=int, default=6)
    return parser.parse_args()


def build(rank):
    """The frozen model with adapters in its attention."""
    config = LlamaConfig(
        hidden_size=1280,
        intermediate_size=3456,
        num_hidden_layers=24,
        num_attention_heads=20,
        num_key_value_heads=4,
        vocab_size=32000,
        use_cache=False,
    )
    model = LlamaForCausalLM(config)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
    return get_peft_model(model, LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.05, target_modules=targets))


def main():
    args = parse_args()
    data = Answers(args.steps * args.batch_size, args.length, 32000)
    accumulate = 4  # micro-batches of 2: the effective batch stays 8
    loader = DataLoader(data, batch_size=args.batch_size // accumulate, shuffle=True)

    model = build(args.rank).to("cuda")
    model.print_trainable_parameters()
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=args.lr)

    model.train()
    for step, batch in enumerate(loader):
        batch = {name: tensor.to("cuda") for name, tensor in batch.items()}
        loss = model(**batch).loss
        (loss / accumulate).backward()
        if (step + 1) % accumulate == 0 or step + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
