batch = tokenizer(texts, padding=True, return_tensors="pt")
