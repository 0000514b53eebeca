enc = tokenizer(texts, padding="max_length", max_length=4096, truncation=True)
