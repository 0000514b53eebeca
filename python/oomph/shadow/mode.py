"""The mode: sees every operation, computes it again on the CPU where the values are known, keeps the result.

Most operations are on large floats, about which nothing is known: they must pass quickly. Nothing here may
raise into the script; whatever goes wrong, the values concerned are forgotten.
"""

import contextlib
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from oomph import frames
from oomph.shadow import assumed, constants
from oomph.shadow.plans import Plan, plan_of
from oomph.shadow.values import CPU, Unknown, Values, small, span

_PLAIN = torch.Tensor.__torch_dispatch__


class Shadow(TorchDispatchMode):
    # Else operators such as flex_attention refuse to run under a mode they do not know.
    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled where we watch, and saying so would import the compiler."""
        return False

    def __init__(self, library, report, costs=None) -> None:
        super().__init__()
        self.report = report
        self.costs = costs
        self.values = Values(library)
        self.ghost = library
        self._plans: dict = {}
        self._random = torch.Generator().manual_seed(0).get_state()
        self._warned: set = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(one.__torch_dispatch__ is not _PLAIN for one in types):
            # A tensor subclass takes itself apart first; its parts come back here.
            return NotImplemented
        kwargs = kwargs or {}
        plan = self._plans.get(func)
        if plan is None:
            plan = self._plans[func] = plan_of(func)
        out = self._run(func, plan, args, kwargs)
        if self.costs is not None:
            self.costs.note(func, plan, args, kwargs, out)
        if not plan.inert:
            self._after(func, plan, args, kwargs, out)
        return out

    def _run(self, func, plan: Plan, args, kwargs):
        if plan.name == "_local_scalar_dense":
            with self._reading():
                return func(*args, **kwargs)
        if plan.name in ("_to_copy", "copy_") and _leaves_device(plan.name, args, kwargs):
            with self._reading():
                self._foresee_copy(plan.name, args, kwargs)
                return func(*args, **kwargs)
        foresee = plan.reads
        if foresee is None:
            return func(*args, **kwargs)
        with self._answering():
            self._foresee(foresee, args, kwargs)
            return func(*args, **kwargs)

    @contextlib.contextmanager
    def _reading(self):
        self.ghost.ghost_read_tensors(1)
        try:
            yield
        finally:
            self.ghost.ghost_read_tensors(0)
            self.ghost.ghost_answer_clear()

    @contextlib.contextmanager
    def _answering(self):
        try:
            yield
        finally:
            self.ghost.ghost_answer_clear()

    def _foresee(self, foresee, args, kwargs) -> None:
        if not _on_device(args) or kwargs.get("output_size") is not None:
            return
        try:
            for number in foresee(self.values, self._warn, *args, **kwargs):
                self.values.answer(number)
        except Exception:
            self.ghost.ghost_answer_clear()

    def _foresee_copy(self, name: str, args, kwargs) -> None:
        """A copy that has to change type or layout reads memory of its own; say what will be in it."""
        source = args[0] if name == "_to_copy" else args[1]
        if _is_plain_copy(name, args, kwargs):
            return
        try:
            value = self.values.known(source)
            if name == "copy_":
                value = value.expand(args[0].shape)
            # CUDA's copy kernel converts before the transfer only if the transfer is asynchronous.
            wanted = kwargs.get("dtype") if name == "_to_copy" else args[0].dtype
            asynchronous = kwargs.get("non_blocking") or (name == "copy_" and len(args) > 2 and args[2])
            self.values.answer_bytes(value.to(wanted) if asynchronous and wanted else value)
        except Exception:
            self.values.answer_bytes(None)

    def _after(self, func, plan: Plan, args, kwargs, out) -> None:
        targets: list[torch.Tensor] = []
        try:
            for slot in plan.written:
                _collect(_at(slot, args, kwargs), targets)
            if not plan.in_place:
                _collect(out, targets)
            if targets and (plan.empty or not self._found(func, plan, args, kwargs, out, targets)):
                self._forget(targets)
        except Exception:
            self._forget(targets)

    def _found(self, func, plan: Plan, args, kwargs, out, targets) -> bool:
        """Whether the values of the targets could be told."""
        if any(small(one) for one in targets):
            with contextlib.suppress(Unknown):
                return self._compute(func, plan, args, kwargs, out)
        if plan.constant:
            with contextlib.suppress(Unknown):
                found = constants.result(self.values, plan, func, args, kwargs, targets)
                for target, one in zip(targets, found, strict=True):
                    self.values.fill(target, one)
                return True
        if plan.assumed:
            with contextlib.suppress(Unknown):
                self.values.fill(targets[0], assumed.element(plan.name, args, targets))
                return True
        if plan.drawn:
            with contextlib.suppress(Unknown), self._own_random():
                found = assumed.indices(plan.name, func, args, kwargs, targets[-1])
                self._forget(targets[:-1])
                self.values.keep(targets[-1], found)
                return True
        return False

    def _compute(self, func, plan: Plan, args, kwargs, out) -> bool:
        lowered = [self._lower(one, at in plan.blind) for at, one in enumerate(args)]
        named = {name: self._lower(one, name in plan.blind) for name, one in kwargs.items()}
        named.pop("pin_memory", None)
        with self._own_random() if plan.random else contextlib.nullcontext():
            found = func(*lowered, **named)
        for slot in plan.written:
            self._keep(_at(slot, args, kwargs), _at(slot, lowered, named))
        if not plan.in_place:
            self._keep(out, found)
        return True

    def _keep(self, target, found) -> None:
        """Keep what was found of every tensor in an argument or result."""
        if isinstance(target, torch.Tensor):
            if _is_ours(target):
                self.values.keep(target, found)
        elif isinstance(target, (list, tuple)):
            for one, other in zip(target, found, strict=True):
                self._keep(one, other)

    def _lower(self, argument, blind: bool):
        """The argument as the CPU takes it. Raises Unknown."""
        if isinstance(argument, torch.Tensor):
            if not argument.is_cuda:
                return argument
            if blind and small(argument):
                return torch.empty_strided(argument.shape, argument.stride(), dtype=argument.dtype, device=CPU)
            return self.values.known(argument)
        if isinstance(argument, (list, tuple)):
            return type(argument)(self._lower(one, blind) for one in argument)
        if isinstance(argument, torch.device):
            return CPU
        return None if isinstance(argument, torch.Generator) else argument

    @contextlib.contextmanager
    def _own_random(self):
        """The script's own random numbers must not change because we drew some."""
        theirs = torch.get_rng_state()
        torch.set_rng_state(self._random)
        try:
            yield
        finally:
            self._random = torch.get_rng_state()
            torch.set_rng_state(theirs)

    def _forget(self, targets) -> None:
        for one in targets:
            with contextlib.suppress(Exception):
                self.ghost.ghost_shadow_forget(one.data_ptr(), span(one))

    def _warn(self, what: str) -> None:
        spots = frames.of_stack(sys._getframe())
        place = frames.location(spots) if any(frames.is_users(spot.file) for spot in spots) else None
        printed = any(spot.file.endswith("_tensor_str.py") for spot in spots[-4:])
        if self.report is None or place is None or printed or (place["file"], place["line"]) in self._warned:
            return
        self._warned.add((place["file"], place["line"]))
        message = f"{what}: the size depends on values that a ghost does not have; the largest was assumed"
        self.report("data-dependent-size", message, place["file"], place["line"])


def _at(slot, args, kwargs):
    """An argument by its position (which may be given by name all the same) or its name."""
    if isinstance(slot, int):
        return args[slot] if slot < len(args) else None
    return kwargs.get(slot)


def _on_device(args) -> bool:
    return bool(args) and isinstance(args[0], torch.Tensor) and args[0].is_cuda


def _leaves_device(name: str, args, kwargs) -> bool:
    if name == "copy_":
        return args[1].is_cuda and args[0].device.type == "cpu"
    device = kwargs.get("device")
    return args[0].is_cuda and device is not None and device.type == "cpu"


def _is_plain_copy(name: str, args, kwargs) -> bool:
    """Whether the tensor's memory is copied as it lies."""
    if name == "copy_":
        target, source = args[0], args[1]
        return target.dtype == source.dtype and target.shape == source.shape and _lie_alike(target, source)
    source, dtype = args[0], kwargs.get("dtype")
    kept = kwargs.get("memory_format") in (None, torch.preserve_format)
    dense = span(source) == source.numel() * source.element_size()
    return dtype in (None, source.dtype) and (source.is_contiguous() or (kept and dense))


def _lie_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.is_contiguous() and other.is_contiguous():
        return True
    return one.stride() == other.stride() and span(one) == one.numel() * one.element_size()


def _is_ours(tensor: torch.Tensor) -> bool:
    return tensor.is_cuda and tensor.layout is torch.strided


def _collect(argument, found: list) -> None:
    """The tensors on the ghost in an argument or result."""
    if isinstance(argument, torch.Tensor):
        if _is_ours(argument):
            found.append(argument)
    elif isinstance(argument, (list, tuple)):
        for one in argument:
            _collect(one, found)
