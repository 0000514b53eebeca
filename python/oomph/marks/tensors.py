"""Tensors: parameters, buffers, gradients, optimizer state and inputs, noted by their addresses.

Nothing but addresses and names is kept. Each kind is noted while it is surely there: gradients before an optimizer's
step, its state after it, inputs when the model's call returns; a tensor's whole life follows from one moment of it.
"""

import weakref

from oomph.marks.addresses import address, inside, pieces
from oomph.marks.modules import Modules, parts
from oomph.marks.rows import Rows

PARAMETER, GRADIENT, OPTIMIZER_STATE, BUFFER, INPUT = "parameter", "gradient", "optimizer-state", "buffer", "input"

_MOST_OUTPUTS = 64


class Tensors:
    """What is noted when. Every public function is one look at one moment."""

    def __init__(self, torch, modules: Modules) -> None:
        self.torch = torch
        self.modules = modules
        self.rows = Rows()
        self.names: dict[int, int] = {}  # of parameters and buffers, by their ids
        self.places: dict[int, int] = {}  # and where they were when last noted
        self.outputs: list = []

    def models(self, moved_only: bool = True) -> None:
        """Parameters and buffers of every model, or of those only the ones that are new or have moved."""
        with self._looking():
            seen: set[int] = set()
            for root, module in self.modules.alive():
                for path, part in parts(module):
                    self._members(root, path, part._parameters, PARAMETER, moved_only, seen)
                    self._members(root, path, part._buffers, BUFFER, moved_only, seen)

    def gradients(self) -> None:
        """Of every model, whether an optimizer knows them or not."""
        with self._looking():
            for _, module in self.modules.alive():
                for _, part in parts(module):
                    self._gradients(part._parameters.values())

    def before_step(self, optimizer) -> None:
        with self._looking():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if id(parameter) not in self.places:
                        self._note(parameter, PARAMETER, self._name_of(parameter))
                self._gradients(group["params"])

    def after_step(self, optimizer) -> None:
        with self._looking():
            for parameter, state in optimizer.state.items():
                name = self._name_of(parameter)
                for tensor in inside(self.torch, state):
                    self._note(tensor, OPTIMIZER_STATE, name)

    def inputs(self, names: tuple[str, ...], args: tuple, kwargs: dict) -> None:
        """What the outermost module was called with, unless another one made it. `names`: of the positional ones."""
        made = {where for tensor, where in self.outputs if tensor() is not None}
        named = [*zip(names, args, strict=False), *(("", value) for value in args[len(names) :]), *kwargs.items()]
        with self._looking():
            for name, value in named:
                number = self.rows.name(None, name)
                for tensor in inside(self.torch, value):
                    if tensor.grad_fn is None and address(tensor) not in made and id(tensor) not in self.names:
                        self._note(tensor, INPUT, number)

    def result(self, value) -> None:
        """Remember, weakly, what an outermost module gave back: what the next one is given of it is no input."""
        with self._looking():
            fresh = [(weakref.ref(tensor), address(tensor)) for tensor in inside(self.torch, value)]
        self.outputs = [one for one in self.outputs[-_MOST_OUTPUTS:] if one[0]() is not None] + fresh[-_MOST_OUTPUTS:]

    def loose_parameters(self) -> None:
        """Those of models that were never called. Looks at every object there is, so for the end only."""
        import gc

        kind = self.torch.nn.Parameter
        with self._looking():
            for one in gc.get_objects():
                if issubclass(type(one), kind) and id(one) not in self.names and id(one) not in self.places:
                    self._note(one, PARAMETER, self.rows.name(None, ""))

    def _looking(self):
        """One moment: ordinals are read again. Looking at a tensor calls nothing of the script's own tensor types."""
        self.rows.new_moment()
        return self.torch._C.DisableTorchFunction()

    def _members(self, root: int, path: str, members: dict, category: str, moved_only: bool, seen: set[int]) -> None:
        for own, tensor in members.items():
            if tensor is None or id(tensor) in seen:
                continue
            seen.add(id(tensor))
            name = self.rows.name(root, f"{path}.{own}" if path else own)
            where = address(tensor)
            if moved_only and self.names.get(id(tensor)) == name and self.places.get(id(tensor)) == where:
                continue
            self.names[id(tensor)], self.places[id(tensor)] = name, where
            self._note(tensor, category, name)

    def _gradients(self, parameters) -> None:
        for parameter in parameters:
            gradient = parameter.grad if parameter is not None and parameter.is_leaf else None
            if gradient is not None:
                self._note(gradient, GRADIENT, self._name_of(parameter))

    def _name_of(self, parameter) -> int:
        number = self.names.get(id(parameter))
        return self.rows.name(None, "") if number is None else number

    def _note(self, tensor, category: str, name: int) -> None:
        for piece in pieces(self.torch, tensor):
            if piece.is_cuda:
                self.rows.add(piece.get_device(), address(piece), category, name)
