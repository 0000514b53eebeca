"""Blocks: the repeated parts of a model that are worth treating alike, as the layers of a transformer.

A class whose modules stand in a row (in a list or sequence, or side by side in one parent). Of classes inside each
other one level counts: the outer, unless there are few of it and the inner ones hold most of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# So many blocks are a fine enough choice; of fewer, the parts inside them may be the better one.
ENOUGH = 6
MOST = 0.5


@dataclass
class Row:
    """The modules of one class, by their paths in the model."""

    kind: type
    modules: dict[str, object] = field(default_factory=dict)
    containers: list[str] = field(default_factory=list)

    def bytes(self) -> int:
        seen = {id(one): one for module in self.modules.values() for one in module.parameters()}
        return sum(one.numel() * one.element_size() for one in seen.values())

    def holds(self, path: str) -> bool:
        return any(path.startswith(outer + ".") for outer in self.modules)


def rows(torch, model) -> list[Row]:
    """Those to treat alike, the ones with most of the model first."""
    found = _repeated(torch, model)
    outermost = [row for row in found if not any(_has_inside(other, row) for other in found if other is not row)]
    chosen = [one for row in outermost for one in _level(row, found)]
    apart = {id(row): row for row in chosen if not any(_has_inside(other, row) for other in chosen if other is not row)}
    return sorted(apart.values(), key=Row.bytes, reverse=True)


def _level(row: Row, found: list[Row]) -> list[Row]:
    """The row itself, or what is inside."""
    inside = [other for other in found if other is not row and all(map(row.holds, other.modules))]
    nearest = [one for one in inside if not any(_has_inside(other, one) for other in inside if other is not one)]
    held = sum(one.bytes() for one in nearest)
    count = sum(len(one.modules) for one in nearest)
    if len(row.modules) >= ENOUGH or held < MOST * row.bytes() or count <= len(row.modules):
        return [row]
    return [one for inner in nearest for one in _level(inner, found)]


def _has_inside(outer: Row, inner: Row) -> bool:
    return any(map(outer.holds, inner.modules))


def _repeated(torch, model) -> list[Row]:
    """Classes with two modules or more that stand in a row somewhere; of those, the ones that do."""
    by_kind: dict[type, Row] = {}
    for path, parent in model.named_modules():
        in_a_row = isinstance(parent, (torch.nn.ModuleList, torch.nn.ModuleDict)) or type(parent) is torch.nn.Sequential
        kinds = [type(child) for child in parent.children()]
        for name, child in parent.named_children():
            kind = type(child)
            if _is_block(torch, child) and (in_a_row or kinds.count(kind) > 1):
                row = by_kind.setdefault(kind, Row(kind))
                row.modules[f"{path}.{name}" if path else name] = child
                if path not in row.containers:
                    row.containers.append(path)
    return [row for row in by_kind.values() if len(row.modules) > 1 and row.bytes()]


def _is_block(torch, module) -> bool:
    """Single layers and mere containers are none."""
    own = (torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer)
    if type(module).__module__.startswith(("torch.nn.modules.", "torch.ao.")) and type(module) not in own:
        return False
    return any(True for _ in module.children())
