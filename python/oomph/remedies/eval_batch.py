"""eval-batch: smaller batches where nothing is trained."""

from oomph.remedies.hooks import frameworks, loaders

_SPLIT = "_oomph_eval_split"


def install(wish) -> None:
    parts = int(wish.settings["parts"])
    loaders.watch()
    loaders.begins.append(lambda loader, training: _split(wish, parts, loader, training))
    frameworks.watch()
    frameworks.arguments.append(lambda arguments: _set_arguments(wish, parts, arguments))
    wish.otherwise("no DataLoader was iterated for evaluation")


def _set_arguments(wish, parts: int, arguments) -> None:
    rows = max(1, arguments.per_device_eval_batch_size // parts)
    arguments.per_device_eval_batch_size = rows
    wish.applied(f"TrainingArguments(per_device_eval_batch_size={rows})")


def _split(wish, parts: int, loader, training: bool) -> None:
    if training or frameworks.used() == "trainer" or loader.__dict__.get(_SPLIT):
        return
    size = loaders.batch_size(loader)
    if size is None or size < parts:
        wish.otherwise(f"the DataLoader's batches of {size or 'unknown size'} cannot be split in {parts}")
        return
    rows = wish.settings.get("rows") if size == wish.settings.get("batch") else None
    loaders.resize(loader, rows or size // parts)
    loader.__dict__[_SPLIT] = True
    wish.applied(f"batches of {rows or size // parts}")
