# cause: workspace
# cap: 1.3
# names: torch.linalg.eigh(covariance)
# Whitening by an eigendecomposition; cuSOLVER wants much more than the matrix.
import torch

samples = torch.randn(256, 10000, device="cuda")
covariance = samples.T @ samples / 256
values, vectors = torch.linalg.eigh(covariance)
white = samples @ (vectors * values.clamp_min(1e-6).rsqrt())
