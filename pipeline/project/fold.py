"""A value computed from all active decisions of some kinds, that a new decision or an undo updates in one step."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Generic, TypeVar

from pipeline.decisions import Decision

S = TypeVar("S")


class Fold(Generic[S]):
    """The left fold of a function over decisions that are appended and removed at the end.

    It keeps the values after the newest decisions. An undo of more than those computes the value again from the first.
    """

    def __init__(self, initial: S, step: Callable[[S, Decision], S], memory: int):
        """
        Args:
            initial: the value without any decision.
            step: returns the value after one more decision, as a new object.
            memory: number of values kept.
        """
        self._initial, self._step = initial, step
        self._values: deque[tuple[Decision | None, S]] = deque([(None, initial)], maxlen=memory)
        self._count = 0
        """Number of decisions of the newest value."""

    def over(self, decisions: Sequence[Decision]) -> S:
        """Return the value for these decisions, which begin with those of the call before or are a beginning of them.

        Decisions are compared by identity: an equal one at the same place was decided anew.
        """
        while self._values and not self._holds(decisions):
            self._values.pop()
            self._count -= 1
        if not self._values:
            self._values.append((None, self._initial))
            self._count = 0
        for decision in islice(decisions, self._count, None):
            self._values.append((decision, self._step(self._values[-1][1], decision)))
        self._count = len(decisions)
        return self._values[-1][1]

    def _holds(self, decisions: Sequence[Decision]) -> bool:
        """Whether the newest value is one for the first of these decisions."""
        if self._count == 0:
            return True
        return self._count <= len(decisions) and decisions[self._count - 1] is self._values[-1][0]
