m = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
Trainer(model=m, args=args, train_dataset=ds).train()
