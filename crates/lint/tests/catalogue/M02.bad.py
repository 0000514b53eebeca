teacher = copy.deepcopy(student)
t = teacher(x)
loss = kd(student(x), t)
