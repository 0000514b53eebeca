from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

from data import Answers

model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.2-1B")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, num_train_epochs=1)
trainer = Trainer(model=model, args=args, train_dataset=Answers())
trainer.train()
# oomph:
# {"script": {"framework": "trainer", "models": [{"class": "LlamaForCausalLM", "made_at": "model = Auto", "huggingface": true}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw"}]},
#  "plan": [{"id": "optimizer-8bit", "settings": {"package": "bitsandbytes"}}, {"id": "qlora", "settings": {"rank": 8}}]}
