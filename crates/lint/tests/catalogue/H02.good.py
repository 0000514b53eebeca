cfg = BitsAndBytesConfig(load_in_8bit=True)
