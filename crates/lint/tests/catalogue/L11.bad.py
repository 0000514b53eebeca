loss_d.backward(retain_graph=True)
loss_g.backward(retain_graph=True)
