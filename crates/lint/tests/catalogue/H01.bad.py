trainer = Trainer(model=m, args=TrainingArguments(output_dir="o", eval_strategy="steps"), eval_dataset=ev, compute_metrics=cm)
