batch = tokenizer(texts, padding=True, pad_to_multiple_of=64, truncation=True, max_length=1024, return_tensors="pt")
