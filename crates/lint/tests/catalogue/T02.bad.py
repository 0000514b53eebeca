class M(L.LightningModule):
    def validation_epoch_end(self, outputs):
        self.log("v", torch.stack(outputs).mean())
