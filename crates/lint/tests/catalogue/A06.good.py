with accelerator.accumulate(model):
    accelerator.backward(model(**batch).loss)
    optimizer.step()
    optimizer.zero_grad()
