m = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_4bit=True))
Trainer(model=m, args=args, train_dataset=ds).train()
