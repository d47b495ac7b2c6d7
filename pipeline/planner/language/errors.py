"""Errors of the planner's language: words that cannot be read as a task, with what would work."""

from collections.abc import Sequence


class UnclearPhrase(Exception):
    """A phrase fits no object, or too many; the message says which, and what would work."""

    def __init__(
        self, message: str, unknown: str = "", suggested: Sequence[str] = (), alternatives: Sequence[str] = ()
    ):
        super().__init__(message)
        self.unknown = unknown
        """Words that fit no object."""
        self.suggested = tuple(suggested)
        """Phrases for the objects that they probably refer to, all together."""
        self.alternatives = tuple(alternatives)
        """Phrases for the objects of which they may refer to one."""


class UnparsedClause(UnclearPhrase):
    """The words do not form a clause of the grammar."""


class RepeatedObject(UnclearPhrase):
    """A list names an object twice: its second half may state an order."""


class RefusedClause(UnclearPhrase):
    """The words are understood, and this robot cannot or need not do it."""
