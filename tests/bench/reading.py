"""One measured number beside what it may be and what it could be at the least."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


class Skipped(Exception):
    """A row that cannot be measured here; the text says why."""


@dataclass(frozen=True)
class Reading:
    """A line of the table."""

    what: str
    value: float
    unit: str = "ms"
    budget: float | None = None
    at_least: bool = False
    """Whether the budget is a lower bound."""
    bare: float | None = None
    """The same unit: what the least that would do the job takes, measured in the same run."""
    bare_is: str = ""
    note: str = ""

    @property
    def verdict(self) -> str:
        """ "ok", "OVER", or "" where no budget was set."""
        if self.budget is None:
            return ""
        return "ok" if (self.value >= self.budget if self.at_least else self.value <= self.budget) else "OVER"

    def cells(self) -> tuple[str, ...]:
        """Texts of the table's columns."""
        bound = "" if self.budget is None else f"{'>=' if self.at_least else '<='} {_short(self.budget)} {self.unit}"
        bare = "" if self.bare is None else f"{_short(self.bare)} {self.unit}"
        ratio = f"{self.value / self.bare:.2f}x" if self.bare else ""
        what = "; ".join(part for part in (self.note, self.bare_is and f"bare: {self.bare_is}") if part)
        return (self.what, f"{_short(self.value)} {self.unit}", bound, self.verdict, bare, ratio, what)


def clock(work: Callable[[], Any], times: int = 1) -> list[float]:
    """Wall clock of each call, in seconds."""
    return [_once(work) for _ in range(times)]


def ms(seconds: list[float], percentile: float = 50) -> float:
    """A percentile of some seconds, in milliseconds."""
    return float(np.percentile(seconds, percentile)) * 1000


def lines(readings: list[Reading]) -> Iterator[str]:
    """The table, as text with aligned columns."""
    rows = [("what", "measured", "budget", "", "bare", "ratio", ""), *(one.cells() for one in readings)]
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)).rstrip()


def _once(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 20 else f"{value:.1f}" if abs(value) >= 2 else f"{value:.2f}"
