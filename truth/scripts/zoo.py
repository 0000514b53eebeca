"""Many ways people train, small enough to measure in seconds: zoo.py CASE."""
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

STEPS = 4
CASES = {}


def case(f):
    CASES[f.__name__.replace("_", "-")] = f
    return f


class Words(Dataset):
    """Sentences of random words, some shorter than others."""

    def __init__(self, vocabulary, length, items=64, ragged=False):
        generator = torch.Generator().manual_seed(0)
        self.ids = torch.randint(5, vocabulary, (items, length), generator=generator)
        self.mask = torch.ones(items, length, dtype=torch.long)
        if ragged:
            for i in range(items):
                self.mask[i, length - i % (length // 2):] = 0

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "attention_mask": self.mask[i], "label": i % 2}


def bert(ragged, attn=None, precision=None):
    from transformers import BertConfig, BertForSequenceClassification

    kw = {"attn_implementation": attn} if attn else {}
    model = BertForSequenceClassification._from_config(BertConfig(), **kw).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-5)
    loader = DataLoader(Words(30000, 128, ragged=ragged), batch_size=16)
    for batch in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "bf16"):
            out = model(batch["input_ids"].cuda(), attention_mask=batch["attention_mask"].cuda(), labels=batch["label"].cuda())
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        print(out.loss.item())


@case
def bert_full_mask():
    bert(False)


@case
def bert_ragged():
    bert(True)


@case
def bert_ragged_bf16():
    bert(True, precision="bf16")


@case
def bert_eager():
    bert(True, attn="eager")


@case
def distilbert():
    from transformers import DistilBertConfig, DistilBertForMaskedLM

    model = DistilBertForMaskedLM(DistilBertConfig()).cuda()
    opt = torch.optim.AdamW(model.parameters())
    for batch in DataLoader(Words(30000, 128), batch_size=16):
        ids = batch["input_ids"].cuda()
        labels = ids.clone()
        chosen = torch.bernoulli(torch.full(labels.shape, 0.15)).bool()
        labels[~chosen.cuda()] = -100
        loss = model(ids, attention_mask=batch["attention_mask"].cuda(), labels=labels).loss
        loss.backward()
        opt.step()
        opt.zero_grad()


@case
def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(T5Config(d_model=512, num_layers=6, num_heads=8, d_ff=2048, decoder_start_token_id=0)).cuda()
    opt = torch.optim.AdamW(model.parameters())
    for batch in DataLoader(Words(32000, 128), batch_size=16):
        ids = batch["input_ids"].cuda()
        loss = model(input_ids=ids, attention_mask=batch["attention_mask"].cuda(), labels=ids[:, :64].contiguous()).loss
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)


@case
def lora():
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM

    cfg = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4, vocab_size=32000)
    model = LlamaForCausalLM(cfg).to(torch.bfloat16)
    model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"])).cuda()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for batch in DataLoader(Words(32000, 512, ragged=True, items=16), batch_size=4):
        ids = batch["input_ids"].cuda()
        loss = model(input_ids=ids, attention_mask=batch["attention_mask"].cuda(), labels=ids).loss
        loss.backward()
        opt.step()
        opt.zero_grad()


@case
def llama_gqa_clip():
    from transformers import LlamaConfig, LlamaForCausalLM

    cfg = LlamaConfig(hidden_size=512, intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=2, vocab_size=32000)
    model = LlamaForCausalLM(cfg).cuda().to(torch.bfloat16)
    opt = torch.optim.AdamW(model.parameters(), fused=True)
    for _ in range(STEPS):
        ids = torch.randint(0, 32000, (4, 1024), device="cuda")
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not torch.isfinite(norm):
            continue
        opt.step()
        opt.zero_grad()
        print(loss.item(), norm.item())


def conv_block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True), nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        w = [width, width * 2, width * 4, width * 8]
        self.down = nn.ModuleList([conv_block(3, w[0]), conv_block(w[0], w[1]), conv_block(w[1], w[2])])
        self.mid = conv_block(w[2], w[3])
        self.up = nn.ModuleList([nn.ConvTranspose2d(w[3], w[2], 2, 2), nn.ConvTranspose2d(w[2], w[1], 2, 2), nn.ConvTranspose2d(w[1], w[0], 2, 2)])
        self.conv = nn.ModuleList([conv_block(w[3], w[2]), conv_block(w[2], w[1]), conv_block(w[1], w[0])])
        self.out = nn.Conv2d(w[0], 1, 1)

    def forward(self, x):
        kept = []
        for d in self.down:
            x = d(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.mid(x)
        for u, c in zip(self.up, self.conv):
            x = c(torch.cat([kept.pop(), u(x)], 1))
        return self.out(x)


def unet(amp):
    model = UNet().cuda()
    opt = torch.optim.Adam(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    data = TensorDataset(torch.randn(16, 3, 256, 256), (torch.rand(16, 1, 256, 256) > 0.5).float())
    for epoch in range(2):
        model.train()
        for x, y in DataLoader(data, batch_size=8, shuffle=True):
            x, y = x.cuda(), y.cuda()
            with torch.autocast("cuda", dtype=torch.float16, enabled=amp):
                p = model(x)
                loss = F.binary_cross_entropy_with_logits(p, y)
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        model.eval()
        with torch.no_grad():
            dice = sum((torch.sigmoid(model(x.cuda())) > 0.5).float().mean().item() for x, _ in DataLoader(data, batch_size=8))
        print(epoch, loss.item(), dice)


@case
def unet_fp32():
    unet(False)


@case
def unet_amp():
    unet(True)


@case
def lstm():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn, self.head = nn.Embedding(10000, 650), nn.LSTM(650, 650, 2, dropout=0.5), nn.Linear(650, 10000)

        def forward(self, x, state):
            y, state = self.rnn(self.embed(x), state)
            return self.head(y), state

    model = Model().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    state = (torch.zeros(2, 20, 650, device="cuda"), torch.zeros(2, 20, 650, device="cuda"))
    for _ in range(STEPS):
        x = torch.randint(10000, (35, 20)).cuda()
        state = tuple(s.detach() for s in state)
        out, state = model(x, state)
        loss = F.cross_entropy(out.view(-1, 10000), x.view(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        opt.step()


@case
def gru_bidirectional():
    rnn, head = nn.GRU(128, 256, 2, bidirectional=True, batch_first=True).cuda(), nn.Linear(512, 5).cuda()
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
    for _ in range(STEPS):
        y, _ = rnn(torch.randn(32, 100, 128, device="cuda"))
        loss = F.cross_entropy(head(y[:, -1]), torch.randint(5, (32,), device="cuda"))
        opt.zero_grad()
        loss.backward()
        opt.step()


@case
def dcgan():
    z, f = 100, 64
    g = nn.Sequential(nn.ConvTranspose2d(z, f * 8, 4, 1, 0, bias=False), nn.BatchNorm2d(f * 8), nn.ReLU(True), nn.ConvTranspose2d(f * 8, f * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(f * 4), nn.ReLU(True), nn.ConvTranspose2d(f * 4, f * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(f * 2), nn.ReLU(True), nn.ConvTranspose2d(f * 2, f, 4, 2, 1, bias=False), nn.BatchNorm2d(f), nn.ReLU(True), nn.ConvTranspose2d(f, 3, 4, 2, 1, bias=False), nn.Tanh()).cuda()
    d = nn.Sequential(nn.Conv2d(3, f, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True), nn.Conv2d(f, f * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(f * 2), nn.LeakyReLU(0.2, True), nn.Conv2d(f * 2, f * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(f * 4), nn.LeakyReLU(0.2, True), nn.Conv2d(f * 4, f * 8, 4, 2, 1, bias=False), nn.BatchNorm2d(f * 8), nn.LeakyReLU(0.2, True), nn.Conv2d(f * 8, 1, 4, 1, 0, bias=False)).cuda()
    og, od = (torch.optim.Adam(m.parameters(), 2e-4, (0.5, 0.999)) for m in (g, d))
    for _ in range(STEPS):
        real = torch.randn(128, 3, 64, 64).cuda()
        noise = torch.randn(128, z, 1, 1, device="cuda")
        d.zero_grad()
        F.binary_cross_entropy_with_logits(d(real).view(-1), torch.ones(128, device="cuda")).backward()
        fake = g(noise)
        F.binary_cross_entropy_with_logits(d(fake.detach()).view(-1), torch.zeros(128, device="cuda")).backward()
        od.step()
        g.zero_grad()
        F.binary_cross_entropy_with_logits(d(fake).view(-1), torch.ones(128, device="cuda")).backward()
        og.step()


@case
def vae():
    enc, dec = nn.Sequential(nn.Linear(784, 400), nn.ReLU(), nn.Linear(400, 40)).cuda(), nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784), nn.Sigmoid()).cuda()
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
    for _ in range(STEPS):
        x = torch.rand(512, 784).cuda()
        mu, logvar = enc(x).chunk(2, 1)
        out = dec(mu + torch.randn_like(mu) * torch.exp(0.5 * logvar))
        loss = F.binary_cross_entropy(out, x, reduction="sum") - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        opt.zero_grad()
        loss.backward()
        opt.step()


@case
def transformer_encoder():
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, dropout=0.1)
    model = nn.Sequential(nn.TransformerEncoder(layer, 6), nn.Linear(512, 1000)).cuda()
    opt = torch.optim.RAdam(model.parameters())
    for _ in range(STEPS):
        loss = F.cross_entropy(model(torch.randn(16, 256, 512, device="cuda"))[:, 0], torch.randint(1000, (16,), device="cuda"))
        loss.backward()
        opt.step()
        opt.zero_grad()


@case
def mlp_leak():
    model, opt, kept = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda(), None, []
    opt = torch.optim.Adam(model.parameters())
    for _ in range(6):
        loss = model(torch.randn(2048, 1024, device="cuda")).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        kept.append(loss)


@case
def embedding_masked():
    table = nn.Embedding(50000, 256).cuda()
    opt = torch.optim.Adagrad(table.parameters())
    for step in range(STEPS):
        ids = torch.randint(0, 50000, (64, 128), device="cuda")
        mask = torch.arange(128, device="cuda")[None, :] < torch.arange(64, 128, device="cuda")[:, None]
        rows = table(ids)[mask]
        loss = rows.square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        print(rows.shape, loss.item())


@case
def checkpointed_cnn():
    import torchvision
    from torch.utils.checkpoint import checkpoint

    net = torchvision.models.resnet34(weights=None).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    for _ in range(STEPS):
        h = net.maxpool(net.relu(net.bn1(net.conv1(torch.randn(64, 3, 224, 224).cuda()))))
        for stage in (net.layer1, net.layer2, net.layer3, net.layer4):
            h = checkpoint(stage, h, use_reentrant=False)
        loss = F.cross_entropy(net.fc(net.avgpool(h).flatten(1)), torch.randint(1000, (64,)).cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()


def vision(arch, batch, optimizer=torch.optim.SGD, amp=None, last=False, size=224, **kw):
    import torchvision

    model = torchvision.models.get_model(arch, weights=None).cuda()
    if last:
        model = model.to(memory_format=torch.channels_last)
    opt = optimizer(model.parameters(), lr=1e-3, **kw)
    for _ in range(STEPS):
        x = torch.randn(batch, 3, size, size).cuda()
        if last:
            x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", dtype=amp or torch.float16, enabled=amp is not None):
            out = model(x)
            loss = F.cross_entropy(out if torch.is_tensor(out) else out[0], torch.randint(1000, (batch,)).cuda())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        print(loss.item())


@case
def regnet():
    vision("regnet_y_800mf", 64)


@case
def googlenet():
    vision("googlenet", 64)


@case
def swin():
    vision("swin_t", 32, torch.optim.AdamW)


@case
def resnext_bf16_last():
    vision("resnext50_32x4d", 64, torch.optim.SGD, torch.bfloat16, True, momentum=0.9)


@case
def shufflenet_fp16():
    vision("shufflenet_v2_x1_0", 256, torch.optim.SGD, torch.float16)


@case
def squeezenet():
    vision("squeezenet1_1", 128, torch.optim.Adam)


@case
def wide_resnet_last():
    vision("wide_resnet50_2", 32, torch.optim.SGD, None, True)


@case
def alexnet():
    vision("alexnet", 256)


@case
def benchmark_mode():
    torch.backends.cudnn.benchmark = True
    vision("resnet18", 64, torch.optim.SGD, torch.bfloat16, True)


@case
def segmentation():
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=21).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(STEPS):
        out = model(torch.randn(8, 3, 256, 256).cuda())
        target = torch.randint(0, 21, (8, 256, 256)).cuda()
        loss = F.cross_entropy(out["out"], target) + 0.5 * (F.cross_entropy(out["aux"], target) if "aux" in out else 0)
        opt.zero_grad()
        loss.backward()
        opt.step()


@case
def video():
    import torchvision

    model = torchvision.models.video.r3d_18(weights=None).cuda()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        loss = F.cross_entropy(model(torch.randn(4, 3, 16, 112, 112).cuda()), torch.randint(400, (4,)).cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()


@case
def audio_conv1d():
    blocks = [nn.Sequential(nn.Conv1d(256, 256, 3, padding=2**i, dilation=2**i), nn.GroupNorm(8, 256), nn.SiLU()) for i in range(8)]
    model = nn.Sequential(nn.Conv1d(1, 256, 7, padding=3), *blocks, nn.Conv1d(256, 1, 1)).cuda()
    opt = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        x = torch.randn(8, 1, 16000, device="cuda")
        loss = F.l1_loss(model(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()


class Residual(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.n1, self.c1, self.n2, self.c2 = nn.GroupNorm(8, a), nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(8, b), nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x):
        return self.skip(x) + self.c2(F.silu(self.n2(self.c1(F.silu(self.n1(x))))))


@case
def diffusion():
    attend = nn.MultiheadAttention(256, 4, batch_first=True)
    parts = nn.ModuleDict({"a": nn.Conv2d(3, 64, 3, padding=1), "b": Residual(64, 128), "c": Residual(128, 256), "d": Residual(256, 128), "e": Residual(256, 64), "f": nn.Conv2d(64, 3, 3, padding=1), "att": attend}).cuda()
    opt = torch.optim.AdamW(parts.parameters(), lr=1e-4)
    ema = {k: v.clone() for k, v in parts.state_dict().items()}
    for _ in range(STEPS):
        x = torch.randn(16, 3, 64, 64).cuda()
        noise = torch.randn_like(x)
        t = torch.randint(0, 1000, (16,), device="cuda")
        mixed = x * (1 - t.float() / 1000).view(-1, 1, 1, 1).sqrt() + noise * (t.float() / 1000).view(-1, 1, 1, 1).sqrt()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            h = parts["b"](parts["a"](mixed))
            low = parts["c"](F.avg_pool2d(h, 2))
            flat = low.flatten(2).transpose(1, 2)
            low = low + attend(flat, flat, flat, need_weights=False)[0].transpose(1, 2).reshape(low.shape)
            up = F.interpolate(parts["d"](low), scale_factor=2.0)
            loss = F.mse_loss(parts["f"](parts["e"](torch.cat([up, h], 1))).float(), noise)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        with torch.no_grad():
            for k, v in parts.state_dict().items():
                ema[k].lerp_(v, 0.01)


@case
def detection():
    import torchvision

    model = torchvision.models.detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(3):
        images = [torch.rand(3, 320, 400).cuda() for _ in range(4)]
        targets = [{"boxes": torch.tensor([[10.0, 20.0, 100.0, 120.0], [50.0, 60.0, 200.0, 220.0]]).cuda(), "labels": torch.tensor([1, 2]).cuda()} for _ in range(4)]
        loss = sum(model(images, targets).values())
        opt.zero_grad()
        loss.backward()
        opt.step()


@case
def trainer_eval():
    import tempfile

    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    class Labelled(Words):
        def __getitem__(self, i):
            item = super().__getitem__(i)
            return {"input_ids": item["input_ids"], "attention_mask": item["attention_mask"], "labels": item["label"]}

    model = BertForSequenceClassification(BertConfig(num_hidden_layers=4))
    args = TrainingArguments(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=8, per_device_eval_batch_size=16, num_train_epochs=1, bf16=True, eval_strategy="epoch", save_strategy="no", report_to=[], logging_steps=2)
    Trainer(model=model, args=args, train_dataset=Labelled(30000, 128, ragged=True), eval_dataset=Labelled(30000, 128)).train()


@case
def lightning():
    import pytorch_lightning as pl

    class Net(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10))

        def training_step(self, batch, _):
            loss = F.cross_entropy(self.net(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    data = TensorDataset(torch.randn(2048, 784), torch.randint(10, (2048,)))
    trainer = pl.Trainer(max_steps=6, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False)
    trainer.fit(Net(), DataLoader(data, batch_size=256))


@case
def accelerated():
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024))
    data = DataLoader(TensorDataset(torch.randn(1024, 1024)), batch_size=128)
    model, opt, data = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), data)
    for (x,) in data:
        with accelerator.accumulate(model):
            loss = F.mse_loss(model(x), x)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()


@case
def whisper_like():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    model = WhisperForConditionalGeneration(WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536)).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for _ in range(STEPS):
        out = model(input_features=torch.randn(4, 80, 3000, device="cuda"), labels=torch.randint(0, 50000, (4, 64), device="cuda"))
        out.loss.backward()
        opt.step()
        opt.zero_grad()


@case
def vit_hf_bf16():
    from transformers import ViTConfig, ViTForImageClassification

    model = ViTForImageClassification(ViTConfig(num_labels=1000)).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(STEPS):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(pixel_values=torch.randn(32, 3, 224, 224).cuda(), labels=torch.randint(1000, (32,)).cuda()).loss
        loss.backward()
        opt.step()
        opt.zero_grad()


@case
def compiled():
    model = torch.compile(nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.LayerNorm(4096), nn.Linear(4096, 1024)).cuda())
    opt = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        loss = model(torch.randn(512, 1024, device="cuda")).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        print(loss.item())


@case
def cuda_graph():
    model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(256, 512, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            opt.zero_grad(set_to_none=True)
            model(x).square().mean().backward()
            opt.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    opt.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
    for _ in range(3):
        graph.replay()
    print(loss.item())


CASES[sys.argv[1]]()
