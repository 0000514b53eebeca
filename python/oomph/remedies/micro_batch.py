"""micro-batch: the same batch in several parts, whose gradients add up before the optimizer steps.

In a script's own loop every `parts`-th round is a real one: only there gradients are clipped and unscaled, the
optimizer and its schedule step, and gradients are cleared. The loss counts for its part. Each optimizer counts for
itself.
"""

import sys
import weakref

from oomph.remedies.hooks import backwards, frameworks, loaders, optimizers, rounds

_SPLIT = "_oomph_split"


def install(wish) -> None:
    """`by` in the settings: `flags` and the script does all of it, `argument` or `placeholder` and it has the smaller
    batch already; otherwise we make it smaller. `accumulate: false` leaves it at that."""
    parts, by = int(wish.settings["parts"]), wish.settings.get("by")
    adds_up = wish.settings.get("accumulate", True)
    is_smaller = by in ("argument", "placeholder")
    if by == "flags" or (is_smaller and not adds_up):
        wish.applied("by the script's own arguments")
        return
    loops = _Rounds(wish, parts, is_smaller, adds_up)
    frameworks.watch()
    frameworks.arguments.append(loops.set_arguments)
    frameworks.lightning.append(loops.set_lightning)
    _accumulate(loops)
    loaders.watch()
    loaders.begins.append(loops.split)
    loaders.gives.append(loops.next_batch)
    loaders.ends.append(loops.end_epoch)
    wish.otherwise("no optimizer of torch.optim made a step")


def _accumulate(loops) -> None:
    backwards.watch()
    rounds.watch()
    backwards.gradients.append(loops.divide)
    optimizers.steps.insert(0, loops.step)
    optimizers.clears.append(loops.may_clear)
    rounds.unscales.append(loops.is_last)
    rounds.updates.append(lambda: not loops.pending())
    rounds.clips.append(lambda parameters: all(map(loops.is_last, loops.of(parameters))))
    rounds.schedules.append(lambda optimizer: loops.counts.get(optimizer, 0) == 0)


class _Rounds:
    """Where each optimizer is in its group of parts."""

    def __init__(self, wish, parts: int, is_smaller: bool, adds_up: bool) -> None:
        self.wish, self.parts, self.smaller = wish, parts, is_smaller
        self.splits = not is_smaller
        self.factor = parts if adds_up else 1
        self.counts = weakref.WeakKeyDictionary()
        self.epoch_over = False
        self.clears_after = weakref.WeakKeyDictionary()
        self.fresh_step = weakref.WeakSet()

    def set_arguments(self, arguments) -> None:
        if self.splits:
            arguments.per_device_train_batch_size = self._rows(arguments.per_device_train_batch_size)
        arguments.gradient_accumulation_steps *= self.factor
        rows, steps = arguments.per_device_train_batch_size, arguments.gradient_accumulation_steps
        self.wish.applied(f"TrainingArguments(per_device_train_batch_size={rows}, gradient_accumulation_steps={steps})")

    def set_lightning(self, keywords: dict) -> None:
        """Lightning has no batch size of its own: its loaders are the script's."""
        given = keywords.get("accumulate_grad_batches") or 1
        keywords["accumulate_grad_batches"] = given * self.factor
        self.wish.otherwise("no DataLoader was iterated for training")
        if self.smaller:
            self.wish.applied(f"Trainer(accumulate_grad_batches={given * self.factor})")

    def split(self, loader, training: bool) -> None:
        if not training or not self.splits or loader.__dict__.get(_SPLIT) or frameworks.used() == "trainer":
            return
        size = loaders.batch_size(loader)
        if size is None or size < self.parts:
            self.wish.otherwise(f"the DataLoader's batches of {size or 'unknown size'} cannot be split in {self.parts}")
            return
        loaders.resize(loader, self._rows(size))
        loader.__dict__[_SPLIT] = True
        self.smaller = True
        if frameworks.used() == "lightning":
            self.wish.applied(f"batches of {self._rows(size)}, {self.factor} for each step")

    def divide(self, gradient):
        """As if the loss were divided by the number of parts."""
        return gradient / self.factor if self.counting() else None

    def step(self, optimizer, step, closure):
        if frameworks.used() is None:
            self._judge()
        if not self.counting():
            return step(closure)
        self.fresh_step.add(optimizer)
        if self.is_last(optimizer):
            self.counts[optimizer] = 0
            return step(closure)
        self.counts[optimizer] = self.counts.get(optimizer, 0) + 1
        return _evaluate(closure)

    def _judge(self) -> None:
        if self.smaller:
            self.wish.applied(f"{self.factor} parts for each step")
        else:
            self.wish.refused("no DataLoader gave the batch: name the argument that sets it")

    def may_clear(self, parameters) -> bool:
        if not self.counting():
            return True
        owners = self.of(parameters)
        for optimizer in owners:
            self.clears_after[optimizer] = optimizer in self.fresh_step
        return all(self.counts.get(optimizer, 0) == 0 for optimizer in owners)

    def next_batch(self) -> None:
        """What is cleared from here on is cleared before a round, and not after the last one."""
        self.fresh_step.clear()

    def end_epoch(self, loader) -> None:
        """The last group of an epoch may be smaller."""
        if not self.counting():
            return
        if loaders.looks_ahead(loader):
            self.epoch_over = True  # its last batch is yet to come
            return
        for optimizer in self.pending():
            self.counts[optimizer] = self.factor - 1
            optimizer.step()
            if self.clears_after.get(optimizer):
                optimizer.zero_grad()

    def counting(self) -> bool:
        """Frameworks with a loop of their own count themselves."""
        return frameworks.used() is None and self.factor > 1

    def pending(self) -> list:
        return [optimizer for optimizer, count in self.counts.items() if count]

    def is_last(self, optimizer) -> bool:
        return not self.counting() or self.epoch_over or self.counts.get(optimizer, 0) + 1 >= self.factor

    def of(self, parameters) -> list:
        """The optimizers of these parameters."""
        ids = set(map(id, parameters))
        return [one for one in optimizers.known() if not ids.isdisjoint(map(id, optimizers.parameters(one)))]

    def _rows(self, size: int) -> int:
        wished = self.wish.settings.get("batch")
        rows = self.wish.settings.get("rows") if size == wished else None
        return rows or max(1, size // self.parts)


def _evaluate(closure):
    """Such a loop makes its forward and backward passes inside of the step."""
    if closure is None:
        return None
    with sys.modules["torch"].enable_grad():
        return closure()
