m = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B").cuda()
