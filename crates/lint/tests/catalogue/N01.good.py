out = model(x.cuda()); out.shape
