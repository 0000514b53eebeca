"""no-grad-eval: a model that is only measured keeps nothing for a backward pass."""

import sys
import weakref

from oomph.remedies.hooks import optimizers, roots


def install(wish) -> None:
    optimizers.watch()
    roots.watch()
    trained = weakref.WeakSet()
    roots.evaluations.append(lambda model: _without_gradients(wish, trained, model))
    wish.otherwise("no model in evaluation mode was called with gradients")


def _without_gradients(wish, trained, model):
    """A model that was never called in training mode, and has an optimizer, may well be trained in evaluation mode."""
    if model.training:
        trained.add(model)
        return None
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return None
    if model not in trained and _has_optimizer(model):
        wish.otherwise(f"{type(model).__name__} was not called in training mode before")
        return None
    wish.applied(type(model).__name__)
    return sys.modules["torch"].no_grad()


def _has_optimizer(model) -> bool:
    own = set(map(id, model.parameters()))
    return any(not own.isdisjoint(map(id, optimizers.parameters(one))) for one in optimizers.known())
