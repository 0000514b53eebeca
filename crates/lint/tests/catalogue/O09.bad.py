os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
