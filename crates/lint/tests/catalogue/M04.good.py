vgg = torchvision.models.vgg16(weights="DEFAULT").features.eval().cuda().requires_grad_(False)
with torch.no_grad():
    target = vgg(real)
loss = F.mse_loss(vgg(fake), target)
