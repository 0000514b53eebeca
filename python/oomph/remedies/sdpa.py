"""sdpa: attention of Hugging Face models by torch's scaled_dot_product_attention, which keeps no matrix of scores."""

from oomph.remedies.hooks import roots


def install(wish) -> None:
    if wish.settings.get("by") == "source":
        wish.refused("attention written by hand has to be changed in the source")
        return
    roots.watch()
    roots.first.append(lambda model: _switch(wish, model))
    wish.otherwise("only Hugging Face models have a switch; attention written by hand has to be changed in the source")


def _switch(wish, model) -> None:
    for module in model.modules():
        config = getattr(module, "config", None)
        if not hasattr(module, "set_attn_implementation") or config is None:
            continue
        if config._attn_implementation != "eager":
            wish.otherwise(f"{type(module).__name__} has {config._attn_implementation} attention already")
        elif not getattr(module, "_supports_sdpa", False):
            wish.otherwise(f"{type(module).__name__} has no other attention than its own")
        else:
            module.set_attn_implementation("sdpa")
            wish.applied(type(module).__name__)
