"""Compiled: modules inside compiled code are not marked, so that what is compiled is what would be without us."""

import warnings

from oomph import marks


def after_eval_frame(module) -> None:
    """`_maybe_set_eval_frame` (torch 2.6 to 2.15) is called with the compiler when compiled code is entered and with
    what was there before when it is left."""
    if not marks.wanted():
        return
    warnings.filterwarnings("ignore", message="Using `torch.compile.module.` when there are global hooks")
    original = module._maybe_set_eval_frame

    def _maybe_set_eval_frame(callback):
        marks.listen(callback is None)
        return original(callback)

    module._maybe_set_eval_frame = _maybe_set_eval_frame


AFTER_IMPORT = {"torch._dynamo.eval_frame": after_eval_frame}
