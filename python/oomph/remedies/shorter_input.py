"""shorter-input: shorter sequences or smaller images, by an argument of the script, which the plan has changed."""


def install(wish) -> None:
    wish.applied("by the script's own arguments")
