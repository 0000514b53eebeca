@app.post("/predict")
def predict(req):
    model = AutoModel.from_pretrained(NAME).cuda()
    return model(**req)
app.run(debug=True)
