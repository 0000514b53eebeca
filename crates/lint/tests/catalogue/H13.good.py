model = torchvision.models.resnet50()
model.layer3 = CheckpointWrapper(model.layer3)
