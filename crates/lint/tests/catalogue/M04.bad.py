vgg = torchvision.models.vgg16(weights="DEFAULT").features.eval().cuda()
loss = F.mse_loss(vgg(fake), vgg(real))
