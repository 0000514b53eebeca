teacher = copy.deepcopy(student).requires_grad_(False).eval()
with torch.no_grad():
    t = teacher(x)
loss = kd(student(x), t)
