torch.backends.cudnn.benchmark = False
for img in images_of_many_sizes:
    model(img)
