for step, batch in enumerate(loader):
    loss = model(**batch).loss / accum
    loss.backward()
    if (step + 1) % accum == 0:
        optimizer.step()
        optimizer.zero_grad()
