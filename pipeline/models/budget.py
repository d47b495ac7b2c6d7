"""What calls cost: told before a large step, counted as they happen, and never more than the ceiling."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.models.model import ModelError
from pipeline.models.settings import ModelSettings


@dataclass(frozen=True)
class Price:
    """USD for a million tokens."""

    asked: float
    answered: float
    source: str
    """"your settings" or the price list's name."""

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self.asked + completion_tokens * self.answered) / 1e6


def price(settings: ModelSettings, model: str = "") -> Price | None:
    """Of the settings' model or another; None where it is unknown, which is not the same as nothing."""
    if settings.usd_per_million_in is not None and settings.usd_per_million_out is not None:
        return Price(settings.usd_per_million_in, settings.usd_per_million_out, "your settings")
    return None


@dataclass(frozen=True)
class Estimate:
    """What a step will take, about."""

    things: str
    """"14 objects"."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    """None: the price is unknown."""

    @property
    def sentence(self) -> str:
        """ "14 objects, about 14 calls, roughly $0.05"."""
        cost = "price unknown" if self.usd is None else f"roughly {dollars(self.usd)}"
        return f"{self.things}, about {self.calls} call{'s' * (self.calls != 1)}, {cost}"


def estimate_step(settings: ModelSettings, stage: str, objects: int, candidates: int = 5) -> Estimate:
    """Of a stage ("descriptions", "matches", "task", "rounds") about so many objects. Offline: no calls."""
    return Estimate(f"{objects} object{'s' * (objects != 1)}", 0, 0, 0, 0.0)


class Purse:
    """A project's spending under its ceiling. May be used from several threads."""

    def __init__(self, ceiling_usd: float | None = None, spent_usd: float = 0.0):
        self.ceiling_usd, self.spent_usd = ceiling_usd, spent_usd
        self._reserved, self._lock = 0.0, threading.Lock()

    def reserve(self, most_usd: float | None) -> float:
        """Sets aside the most a call can cost. Raises ModelError where that may cross the ceiling."""
        with self._lock:
            if self.ceiling_usd is not None and most_usd is None:
                raise ModelError(
                    f"The price of this model is unknown, so the ceiling of {dollars(self.ceiling_usd)} cannot be "
                    "kept; state its price in the Models panel, or take the ceiling away."
                )
            most = most_usd or 0.0
            if self.ceiling_usd is not None and self.spent_usd + self._reserved + most > self.ceiling_usd:
                raise ModelError(
                    f"This call may cost {dollars(most)}, and {dollars(self.spent_usd + self._reserved)} of the "
                    f"ceiling of {dollars(self.ceiling_usd)} are spent or set aside; raise the ceiling in the Models "
                    "panel (GRS_CEILING_USD), or go on with what is measured."
                )
            self._reserved += most
            return most

    def settle(self, reserved: float, usd: float | None) -> None:
        """A call is over; where its cost stayed unknown, what was set aside counts as spent."""
        with self._lock:
            self._reserved -= reserved
            self.spent_usd += reserved if usd is None else usd


def spent(ends: Iterable[Mapping[str, Any]]) -> float:
    """USD that a trace's end lines tell of; what was set aside for calls of unknown cost counts."""
    return sum(float(end.get("counted_usd") or 0.0) for end in ends)


def dollars(usd: float) -> str:
    """ "$0.05", "less than $0.01", "$12.30"."""
    return "less than $0.01" if 0 < usd < 0.005 else f"${usd:.2f}"
