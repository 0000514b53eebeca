fake = G(z)
loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
loss_d.backward()
opt_d.step()
