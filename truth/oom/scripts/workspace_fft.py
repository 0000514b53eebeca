# cause: workspace
# cap: 4
# names: spectrum = torch.fft.fftn(volume)
import torch

volume = torch.rand(620, 620, 620, device="cuda")
spectrum = torch.fft.fftn(volume)
filtered = torch.fft.ifftn(spectrum * 0.5).real
