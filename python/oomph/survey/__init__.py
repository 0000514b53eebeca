"""Survey: what is seen of the unmodified script, for those who look for a way to make it fit.

One topic a file; each notes cheap facts when something happens, keeps no tensor, and gives its part of the one event
`script`, which is written before the try ends. Memory is what it is without a survey.
"""

from importlib import import_module

TOPICS = ("models", "optimizers", "loaders", "arguments", "loop", "loss", "packages")


def install(session) -> None:
    """Before the script."""
    from oomph import ending
    from oomph.guard import guarded

    if not session.survey:
        return
    topics = [import_module(f"oomph.survey.{name}") for name in TOPICS]
    for topic in topics:
        guarded(topic.watch)()
    ending.before(lambda reason: _write(topics))


def _write(topics: list) -> None:
    from oomph import events
    from oomph.guard import guarded

    facts: dict = {}
    for topic in topics:
        facts.update(guarded(topic.facts)() or {})
    events.write("script", **facts)
