trainer = L.Trainer(precision="16-mixed")
