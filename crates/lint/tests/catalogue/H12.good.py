TrainingArguments(output_dir="o", eval_strategy="steps", bf16=True)
