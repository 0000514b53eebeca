"""Environment: variables that a try sets before the script begins, as a shell would."""

import os


def install(session) -> None:
    os.environ.update(session.config.get("environment") or {})
