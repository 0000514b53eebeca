cfg = BitsAndBytesConfig(load_in_4bit=True)
