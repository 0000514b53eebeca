model = AutoModelForCausalLM.from_pretrained(name)
model.gradient_checkpointing_enable()
model.eval()
loss = model(**batch).loss
loss.backward()
