with accelerator.accumulate(model):
    accelerator.backward(model(**batch).loss)
    optimizer.step()
    model.zero_grad()
