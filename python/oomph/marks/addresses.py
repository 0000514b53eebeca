"""Addresses: where a tensor's memory is, and which tensors a value holds, without making any.

`data_ptr` does not; asking for a tensor's storage would leave a Python object behind.
"""

from collections.abc import Mapping

# Batches are dicts of lists of tensors at most; longer ones are not looked through.
_DEPTH = 3
_MOST_ITEMS = 1024


def address(tensor) -> int:
    """Of the block that the tensor is a part of; 0 if it has none."""
    try:
        return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
    except RuntimeError:
        return 0  # fake, functional or sparse: there is no memory of its own


def pieces(torch, tensor) -> tuple:
    """The plain tensors behind one of a subclass (sharded, quantised) or of a sparse layout."""
    if type(tensor) in (torch.Tensor, torch.nn.Parameter):
        return (tensor,) if tensor.layout is torch.strided else _sparse(torch, tensor)
    flatten = getattr(tensor, "__tensor_flatten__", None)
    if flatten is None:
        return (tensor,)
    names, _ = flatten()
    return tuple(piece for name in names for piece in pieces(torch, getattr(tensor, name)))


def inside(torch, value, depth: int = _DEPTH):
    """The tensors in a value: itself, or in dicts, lists and tuples."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, (Mapping, list, tuple)) and len(value) <= _MOST_ITEMS:
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from inside(torch, one, depth - 1)


def _sparse(torch, tensor) -> tuple:
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values()
    return ()
