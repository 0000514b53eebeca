encoder.requires_grad = False
p.require_grad = False
