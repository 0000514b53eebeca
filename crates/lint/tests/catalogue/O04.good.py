for batch in loader:
    oom = False
    try:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
    except torch.cuda.OutOfMemoryError:
        oom = True
    if oom:
        optimizer.zero_grad(set_to_none=True)
        continue
