"""Runs a script with some of its model's modules checkpointed: `checkpointed.py '["layers.0", ...]' script.py ARGS`.

The first module that is called is the model; names are as in `named_modules`.
"""

from __future__ import annotations

import functools
import json
import runpy
import sys
from pathlib import Path

from torch.utils.checkpoint import checkpoint


def wrap_at_first_call(names: list[str]) -> None:
    """Checkpoints the named modules when the model is called for the first time."""
    from torch.nn.modules.module import register_module_forward_pre_hook

    def wrap(model, _):
        hook.remove()
        for name in names:
            module = model.get_submodule(name)
            module.forward = functools.partial(checkpoint, module.forward, use_reentrant=False)

    hook = register_module_forward_pre_hook(wrap)


def main(names: str, *argv: str) -> None:
    wrap_at_first_call(json.loads(names))
    sys.argv = list(argv)
    sys.path.insert(0, str(Path(argv[0]).resolve().parent))
    runpy.run_path(argv[0], run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
