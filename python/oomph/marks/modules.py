"""Modules: which module is what in its model. `transformer.h.3.attn`, also through DDP, torch.compile and the like.

A model is known from the first call of its outermost module on, a root. Only roots are kept, weakly; what belongs to
them is known by its id while they live. Plain numbers and strings: thousands of small objects would move Python's
garbage collections, and with them the moment at which a script's cyclic garbage gives its memory back.
"""

import weakref

# Modules that only hold another one, and under which name.
_WRAPPED = {
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "OptimizedModule": "_orig_mod",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "CheckpointWrapper": "_checkpoint_wrapped_module",
    "OffloadWrapper": "_checkpoint_wrapped_module",
}


class Modules:
    """Every module that was seen has a number; its path is put together at the end, when all roots are known."""

    def __init__(self) -> None:
        self.roots: list = []
        self.kinds: list[str] = []  # the class of each root
        self.own: list[int] = []  # and its number
        self.numbers: dict[int, int] = {}
        self.root_of: list[int] = []
        self.paths: list[str] = []
        self.classes: list[str] = []

    def number(self, module, within: int | None) -> int:
        """`within`: the number of the module whose forward calls this one; None if nobody's does."""
        number = self.numbers.get(id(module))
        if number is not None and self._is_alive(number):
            return number
        if within is None or not self._is_alive(within):
            self.add_root(module)
        else:
            root = self.root_of[within]
            self._walk(self.roots[root](), root)  # a layer that was added since
            if id(module) not in self.numbers:
                self._put(module, root, f"{self.paths[within]}.<{_class(module)}>".lstrip("."))
        return self.numbers[id(module)]

    def add_root(self, module) -> None:
        """A model that holds others which were taken for roots so far becomes theirs."""
        self.roots.append(weakref.ref(module))
        self.kinds.append(_class(module))
        self._walk(module, len(self.roots) - 1)
        self.own.append(self.numbers[id(module)])

    def alive(self):
        """Roots that are still there, with their indices, but not those that are part of another."""
        for index, root in enumerate(self.roots):
            module = root()
            if module is not None and self.root_of[self.own[index]] == index:
                yield index, module

    def names(self) -> list[str]:
        """The name of each module: its path, or its class if it is the model itself."""
        prefixes, kinds = self.prefixes(), self._kind_names()
        return [
            prefixes[root] + path if path else kinds[root] for root, path in zip(self.root_of, self.paths, strict=True)
        ]

    def prefixes(self) -> list[str]:
        """What paths below each root begin with: nothing, or the model's class if the script has several models."""
        # Losses and the like are modules too, but have no parts, and make no name ambiguous.
        several = len({root for root, path in zip(self.root_of, self.paths, strict=True) if path}) > 1
        own = [f"{kind}." if several else "" for kind in self._kind_names()]
        return [own[self.root_of[number]] + self._below(root, number) for root, number in enumerate(self.own)]

    def _below(self, root: int, number: int) -> str:
        """Where a root is that has become part of another one since."""
        return f"{self.paths[number]}." if self.root_of[number] != root else ""

    def _kind_names(self) -> list[str]:
        """The class of each root, numbered from the second of its class on."""
        owners, seen, names = set(self.root_of), {}, []
        for root, kind in enumerate(self.kinds):
            seen[kind] = seen.get(kind, 0) + (root in owners)
            names.append(f"{kind}#{seen[kind]}" if seen[kind] > 1 else kind)
        return names

    def _is_alive(self, number: int) -> bool:
        return self.roots[self.root_of[number]]() is not None

    def _walk(self, module, root: int) -> None:
        for path, part in parts(module):
            self._put(part, root, path)

    def _put(self, module, root: int, path: str) -> None:
        number = self.numbers.get(id(module))
        if number is not None and self._is_alive(number):
            self.root_of[number], self.paths[number] = root, path
            return
        self.numbers[id(module)] = len(self.paths)
        self.root_of.append(root)
        self.paths.append(path)
        self.classes.append(_class(module))


def parts(module, path: str = "", seen: set[int] | None = None):
    """A module and all that it consists of, with their paths; a shared one once, by its first path."""
    seen = set() if seen is None else seen
    if id(module) in seen:
        return
    seen.add(id(module))
    yield path, module
    for name, part in module._modules.items():
        if part is not None:
            yield from parts(part, _joined(module, path, name), seen)


def _joined(module, path: str, name: str) -> str:
    if _WRAPPED.get(type(module).__name__) == name:
        return path
    return f"{path}.{name}" if path else name


def _class(module) -> str:
    """Of the model itself, not of what was put around it."""
    name = type(module).__name__
    inner = module._modules.get(_WRAPPED[name]) if name in _WRAPPED else None
    return name if inner is None else _class(inner)
