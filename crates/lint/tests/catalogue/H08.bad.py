dm = {"transformer.h.0": 0, "transformer.h.1": 1}
m = AutoModelForCausalLM.from_pretrained("gpt2", device_map=dm)
