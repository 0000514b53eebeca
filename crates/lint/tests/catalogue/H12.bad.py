TrainingArguments(output_dir="o", evaluation_strategy="steps", fp16=True, bf16=True)
