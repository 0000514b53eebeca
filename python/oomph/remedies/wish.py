"""A wish: one remedy with its settings, and what became of it, which is told once."""

from oomph import events


class Wish:
    """`settings` as the plan gives them. The first answer counts, but a refusal overrules: its numbers mean nothing."""

    def __init__(self, id: str, settings: dict) -> None:
        self.id = id
        self.settings = settings
        self.answer: bool | None = None
        self._expect("the script ended before it could take effect")

    def applied(self, detail: str | None = None) -> None:
        if self.answer is None:
            self._tell(True, None, detail)

    def refused(self, why: str) -> None:
        if self.answer is not False:
            self._tell(False, why, None)

    def otherwise(self, why: str) -> None:
        """What to say if the script ends and nothing else was said."""
        self._why_not = why

    def _expect(self, why: str) -> None:
        from oomph import ending

        self._why_not = why
        ending.before(lambda reason: self.refused(self._why_not) if self.answer is None else None)

    def _tell(self, applied: bool, why: str | None, detail: str | None) -> None:
        self.answer = applied
        events.write("remedy", id=self.id, applied=applied, why=why, detail=detail)
