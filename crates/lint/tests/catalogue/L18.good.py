mean_loss = torch.stack([l.detach() for l in losses]).mean().item()
arr = out[0].detach().cpu().numpy().copy()
