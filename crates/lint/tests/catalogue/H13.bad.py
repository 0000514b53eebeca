model = torchvision.models.resnet50()
model.gradient_checkpointing_enable()
