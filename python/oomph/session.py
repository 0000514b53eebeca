"""What this try was asked to do: the session directory and its config.json, read when first needed."""

import os
import sys

from oomph import plain

# `import json` costs more than the rest of our start together, so the config is read on first use.


class Session:
    """One try, as seen from one process. In a warm process (warm.py) it is known only once a candidate begins."""

    def __init__(self, directory: str, is_known: bool = True) -> None:
        self.directory = directory
        self.is_known = is_known
        self._config: dict | None = None
        self._waiting: list = []

    def when_known(self, call) -> None:
        """Call now, or where the try is not known yet, in every candidate as it begins, in the order of these calls."""
        if self.is_known:
            call()
        else:
            self._waiting.append(call)

    def become(self, directory: str) -> None:
        """This process is the try in `directory` from now on."""
        self.directory, self.is_known, self._config = directory, True, None
        for call in self._waiting:
            call()
        self._waiting.clear()

    def mentions(self, key: str) -> bool:
        """Whether the config has this key, found without reading it as JSON."""
        if self._config is not None:
            return key in self._config
        try:
            with plain.open(os.path.join(self.directory, "config.json"), "rb") as file:
                return f'"{key}"'.encode() in file.read()
        except OSError:
            return False

    @property
    def config(self) -> dict:
        if self._config is None:
            import json

            with plain.open(os.path.join(self.directory, "config.json"), encoding="utf-8") as file:
                self._config = json.load(file)
        return self._config

    @property
    def gpu(self) -> dict:
        return self.config.get("gpu") or {}

    @property
    def steps(self) -> int | None:
        """Stop after this many optimizer steps; None: when the peak has settled."""
        return self.config.get("steps")

    @property
    def full(self) -> bool:
        return bool(self.config.get("full"))

    @property
    def time_limit_s(self) -> float | None:
        return self.config.get("time_limit_s")

    @property
    def keep_files(self) -> bool:
        return bool(self.config.get("keep_files"))

    @property
    def argv(self) -> list[str] | None:
        """The script and its arguments, if other than on the command line."""
        return self.config.get("argv")

    @property
    def sources(self) -> dict[str, str]:
        """The user's files that are to run with another text: path -> where that text is."""
        return self.config.get("sources") or {}

    @property
    def survey(self) -> bool:
        """Write down what is seen of the script (survey/)."""
        return bool(self.config.get("survey"))

    @property
    def remedies(self) -> list[dict]:
        """What to change about the script, in this order: `{"id", "settings"}`."""
        return self.config.get("remedies") or []

    @property
    def costs(self) -> bool:
        """Write down the operations of a step (costs.py)."""
        return bool(self.config.get("costs"))

    @property
    def save(self) -> str | None:
        """Where to keep PyTorch's memory snapshot: of rank 3 in `memory.rank3.pickle`, of rank 0 as asked for."""
        path, own = self.config.get("save"), rank() or _rank_of_group()
        if not path or not own:
            return path
        return of_rank(path, own)


def of_rank(path: str, number: int) -> str:
    stem, extension = os.path.splitext(path)
    return f"{stem}.rank{number}{extension}"


def rank() -> int | None:
    return _number("RANK")


def world() -> int | None:
    return _number("WORLD_SIZE")


def local_ranks() -> list[int]:
    """The ranks that run on this machine (torchrun numbers them node by node)."""
    own, local, count = _number("RANK"), _number("LOCAL_RANK"), _number("LOCAL_WORLD_SIZE")
    if own is None or local is None or count is None:
        return []
    first = own - local
    return list(range(first, first + count))


def _rank_of_group() -> int | None:
    """A script that starts its own processes may tell torch, and not the environment, which one this is."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank()


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None
