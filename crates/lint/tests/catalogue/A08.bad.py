for step, batch in enumerate(loader):
    loss = model(**batch).loss / accum
    loss.backward()
    if step % accum == 0:
        optimizer.step()
        optimizer.zero_grad()
