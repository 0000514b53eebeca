m = AutoModelForCausalLM.from_pretrained("gpt2", device_map="balanced", max_memory={0: "10GiB", 1: "20GiB"})
