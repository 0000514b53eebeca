m = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_4bit=True))
m = get_peft_model(prepare_model_for_kbit_training(m), LoraConfig())
Trainer(model=m, args=args, train_dataset=ds).train()
