m = AutoModelForCausalLM.from_pretrained(name, load_in_8bit=True)
