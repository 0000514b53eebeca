model(x.cuda())
