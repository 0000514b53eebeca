enc = tokenizer(texts, padding="longest", pad_to_multiple_of=64, truncation=True, max_length=4096)
