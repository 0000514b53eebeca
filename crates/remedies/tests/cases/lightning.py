import lightning as L
import torch
from torch.utils.data import DataLoader

from data import Images
from nets import Net


class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, _):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


loader = DataLoader(Images(), batch_size=32, num_workers=2)
trainer = L.Trainer(max_epochs=3, accumulate_grad_batches=2)
trainer.fit(Lit(), loader)
# oomph:
# {"script": {"framework": "lightning", "models": [{"class": "Net", "made_at": "self.net ="}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw", "made_at": "return torch.optim.AdamW"}],
#   "loaders": [{"batch_size": 32, "made_at": "loader =", "items": 640, "training": true}]},
#  "plan": [{"id": "optimizer-fused"}, {"id": "bf16-autocast"},
#   {"id": "micro-batch", "settings": {"parts": 4, "batch": 32, "rows": 8, "by": "framework"}}]}
