torch.backends.cudnn.benchmark = True
for img in images_of_many_sizes:
    model(img)
