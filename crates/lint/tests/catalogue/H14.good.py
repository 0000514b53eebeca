pipe = DiffusionPipeline.from_pretrained(name, torch_dtype=torch.bfloat16)
pipe.enable_model_cpu_offload()
