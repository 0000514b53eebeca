pipe = DiffusionPipeline.from_pretrained(name)
pipe.enable_model_cpu_offload()
pipe.to("cuda")
