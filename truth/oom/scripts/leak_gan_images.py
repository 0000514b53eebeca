# cause: leak
# cap: 1.5
# names: fake = G(noise)
import torch
import torch.nn as nn

G = nn.Sequential(nn.ConvTranspose2d(64, 64, 4), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 4), nn.ReLU(),
                  nn.ConvTranspose2d(32, 3, 8, 8), nn.Tanh()).cuda()  # fmt: skip
D = nn.Sequential(
    nn.Conv2d(3, 32, 8, 8), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 4), nn.LeakyReLU(0.2), nn.Conv2d(64, 1, 4)
).cuda()
optG = torch.optim.Adam(G.parameters(), lr=2e-4)
optD = torch.optim.Adam(D.parameters(), lr=2e-4)
bce = nn.BCEWithLogitsLoss()
img_list, G_losses = [], []
for _ in range(400):
    real = torch.rand(256, 3, 128, 128, device="cuda")
    noise = torch.randn(256, 64, 1, 1, device="cuda")
    fake = G(noise)
    optD.zero_grad()
    out_real, out_fake = D(real), D(fake.detach())
    errD = bce(out_real, torch.ones_like(out_real)) + bce(out_fake, torch.zeros_like(out_fake))
    errD.backward()
    optD.step()
    optG.zero_grad()
    out = D(fake)
    errG = bce(out, torch.ones_like(out))
    errG.backward()
    optG.step()
    G_losses.append(errG)
    img_list.append(fake)
