m = AutoModelForCausalLM.from_pretrained(name, device_map={"": PartialState().process_index})
Trainer(model=m, args=args, train_dataset=ds).train()
