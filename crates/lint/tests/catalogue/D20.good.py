model = AutoModel.from_pretrained(NAME).cuda().eval()
@app.post("/predict")
@torch.inference_mode()
def predict(req):
    return model(**req)
app.run(debug=False)
