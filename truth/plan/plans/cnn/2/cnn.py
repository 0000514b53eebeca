"""Image classification, the way most tutorials write it."""
import argparse
import torch, torchvision
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--arch", default="resnet50")
p.add_argument("--batch-size", type=int, default=32)
p.add_argument("--size", type=int, default=224)
p.add_argument("--optim", default="sgd", choices=["sgd", "momentum", "adam", "adamw", "rmsprop"])
p.add_argument("--amp", default="none", choices=["none", "fp16", "bf16"])
p.add_argument("--channels-last", action="store_true")
p.add_argument("--accum", type=int, default=1)
p.add_argument("--steps", type=int, default=4)
a = p.parse_args()

device = torch.device("cuda")
model = torchvision.models.get_model(a.arch, weights=None).to(device)
model = model.to(memory_format=torch.channels_last)
if a.channels_last:
    model = model.to(memory_format=torch.channels_last)
opt = {
    "sgd": lambda: torch.optim.SGD(model.parameters(), lr=0.01),
    "momentum": lambda: torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
    "adam": lambda: torch.optim.Adam(model.parameters(), lr=1e-3),
    "adamw": lambda: torch.optim.AdamW(model.parameters(), lr=1e-3),
    "rmsprop": lambda: torch.optim.RMSprop(model.parameters(), lr=1e-3),
}[a.optim]()
loss_fn = nn.CrossEntropyLoss()
scaler = torch.amp.GradScaler("cuda", enabled=a.amp == "fp16")
dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(a.amp, torch.float32)

model.train()
for step in range(a.steps):
    for k in range(a.accum):
        x = torch.randn(a.batch_size, 3, a.size, a.size).to(device, non_blocking=True)
        if a.channels_last:
            x = x.to(memory_format=torch.channels_last)
        y = torch.randint(0, 1000, (a.batch_size,)).to(device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = model(x)
            if not torch.is_tensor(out):
                out = out[0]
            loss = loss_fn(out, y) / a.accum
        scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
    print(f"step {step} loss {loss.item():.4f}")
