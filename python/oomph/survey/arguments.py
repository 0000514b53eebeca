"""Arguments: the whole numbers among the script's options, and what they seem to be for."""

import re
import sys

from oomph.guard import guarded
from oomph.remedies.hooks import imports
from oomph.survey import hooks

_seen: dict[str, dict] = {}

# What names mean; of an option `--train-batch-size` the name is `train_batch_size`.
_ROLES = {
    "batch": r"(per_device_|per_gpu_|mini_?|micro_?)?(train(ing)?_)?(micro_)?(batch|bs|batch_?size|bsz)(_per_\w+)?",
    "accumulate": r"(grad(ient)?_?)?accum\w*|iter_size",
    "sequence": r"(max_)?(seq|sequence|context|ctx)(_?(len|length|size))?|(model_)?max_(len|length)|block(_?size)?",
    "image": r"(img|image|input|crop|train_crop)_?(size|res|resolution)|size|imgsz|resolution|res",
}


def watch() -> None:
    imports.after("argparse", _after_argparse)
    imports.after("click.core", _after_click)


def facts() -> dict:
    return {"arguments": list(_seen.values())}


def role(name: str) -> str | None:
    plain = name.lower().replace("-", "_").strip("_")
    return next((role for role, pattern in _ROLES.items() if re.fullmatch(pattern, plain)), None)


def note(flag: str, name: str, value, given: bool) -> None:
    if isinstance(value, int) and not isinstance(value, bool):
        _seen[name] = {"flag": flag, "name": name, "value": value, "role": role(name), "given": given}


def _after_argparse(module) -> None:
    """Every way of parsing goes through this one, Hugging Face's too."""
    original = module.ArgumentParser.parse_known_args

    def parse_known_args(self, args=None, namespace=None, *rest, **others):
        found = original(self, args, namespace, *rest, **others)
        guarded(_parsed)(self, sys.argv[1:] if args is None else list(args), found[0])
        return found

    module.ArgumentParser.parse_known_args = hooks.like(original, parse_known_args)


def _parsed(parser, words: list, namespace) -> None:
    for action in parser._actions:
        flags = [flag for flag in action.option_strings if flag.startswith("--")] or action.option_strings
        given = not flags or any(_is_given(flag, words) for flag in action.option_strings)
        note(flags[0] if flags else action.dest, action.dest, getattr(namespace, action.dest, None), given)


def _is_given(flag: str, words: list) -> bool:
    return any(word == flag or str(word).startswith(flag + "=") for word in words)


def _after_click(module) -> None:
    original = module.Command.make_context

    def make_context(self, *args, **kwargs):
        context = original(self, *args, **kwargs)
        guarded(_chosen)(self, context)
        return context

    module.Command.make_context = hooks.like(original, make_context)


def _chosen(command, context) -> None:
    for option in command.params:
        flags = [flag for flag in option.opts if flag.startswith("--")] or option.opts
        source = context.get_parameter_source(option.name)
        given = source is not None and source.name == "COMMANDLINE"
        note(flags[0] if flags else option.name, option.name, context.params.get(option.name), given)
