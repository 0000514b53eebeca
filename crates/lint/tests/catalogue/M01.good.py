encoder.requires_grad_(False)
p.requires_grad = False
