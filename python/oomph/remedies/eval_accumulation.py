"""eval-accumulation: the Trainer of transformers moves predictions to the CPU every so many batches."""

from oomph.remedies.hooks import frameworks


def install(wish) -> None:
    frameworks.watch()
    frameworks.arguments.append(lambda arguments: _set_arguments(wish, arguments))
    wish.otherwise("only the Trainer of transformers gathers predictions on the card")


def _set_arguments(wish, arguments) -> None:
    if arguments.eval_accumulation_steps:
        wish.refused(f"TrainingArguments has eval_accumulation_steps={arguments.eval_accumulation_steps} already")
        return
    arguments.eval_accumulation_steps = int(wish.settings["steps"])
    wish.applied(f"TrainingArguments(eval_accumulation_steps={wish.settings['steps']})")
