class M(L.LightningModule):
    def validation_step(self, batch, i):
        self.outs.append(self(batch))
    def on_validation_epoch_end(self):
        self.log("n", torch.cat(self.outs).mean())
