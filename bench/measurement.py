"""A measured value with its budget and a baseline."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

NOISE = 1.25
"""Ratio to an earlier figure that two runs of the same code may have on a quiet machine."""


class NotMeasured(Exception):
    """A row cannot be measured on this machine; the text says why."""


@dataclass(frozen=True)
class Measurement:
    """One row of the table."""

    name: str
    value: float
    unit: str = "ms"
    budget: float | None = None
    at_least: bool = False
    """Whether the budget is a lower bound."""
    baseline: float | None = None
    """Minimum that would do the job, measured in the same run, in the same unit."""
    baseline_is: str = ""
    """What the baseline is."""
    note: str = ""

    @property
    def verdict(self) -> str:
        """ "ok", "OVER", or "" without a budget."""
        if self.budget is None:
            return ""
        return "ok" if (self.value >= self.budget if self.at_least else self.value <= self.budget) else "OVER"

    @property
    def figure(self) -> float:
        """What is compared with other days: the ratio to the baseline of the same run where there is one."""
        return self.value / self.baseline if self.baseline else self.value

    def against(self, earlier: Sequence[Mapping[str, float]]) -> str:
        """Return how many times as slow it is as the median of earlier figures; "" if none has this row."""
        known = [one[self.name] for one in earlier if one.get(self.name)]
        if not known or not self.figure:
            return ""
        ratio = self.figure / float(np.median(known))
        ratio = 1 / ratio if self.at_least else ratio
        return f"{ratio:.2f}x" + (" SLOWER" if ratio > NOISE else " faster" if ratio < 1 / NOISE else "")

    def cells(self) -> tuple[str, ...]:
        """Return the texts of the row's columns."""
        bound = "" if self.budget is None else f"{'>=' if self.at_least else '<='} {_short(self.budget)} {self.unit}"
        baseline = "" if self.baseline is None else f"{_short(self.baseline)} {self.unit}"
        ratio = f"{self.value / self.baseline:.2f}x" if self.baseline else ""
        note = "; ".join(filter(None, (self.note, self.baseline_is and f"baseline: {self.baseline_is}")))
        return (self.name, f"{_short(self.value)} {self.unit}", bound, self.verdict, baseline, ratio, note)


def clock(work: Callable[[], Any], times: int = 1) -> list[float]:
    """Return the wall-clock seconds of each call."""
    return [_time(work) for _ in range(times)]


def ms(seconds: list[float], percentile: float = 50) -> float:
    """Return a percentile of some seconds, in milliseconds."""
    return float(np.percentile(seconds, percentile)) * 1000


def grouped_interval(groups: Sequence[Sequence[float]], draws: int = 4000) -> tuple[float, float]:
    """Return the ends of the 95 % interval of the mean of all values, by bootstrap over whole groups.

    Values of one group (objects of one data set) are not independent, so groups are drawn, not values (the cluster
    bootstrap; Davison and Hinkley, 1997, section 3.8). NaN without values.
    """
    sums = np.array([[float(np.sum(one)), len(one)] for one in groups if len(one)]).reshape(-1, 2)
    if not len(sums):
        return float("nan"), float("nan")
    drawn = sums[np.random.default_rng(0).integers(0, len(sums), (draws, len(sums)))].sum(axis=1)
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1], (2.5, 97.5))
    return float(low), float(high)


def lines(measurements: list[Measurement], earlier: Sequence[Mapping[str, float]] = ()) -> Iterator[str]:
    """Yield the table as text with aligned columns; with earlier figures also the ratio to them."""
    head = ("name", "measured", "budget", "", "baseline", "ratio", "against", "")
    rows = [head, *((*cells[:-1], row.against(earlier), cells[-1]) for row in measurements if (cells := row.cells()))]
    widths = [max(len(row[i]) for row in rows) for i in range(7)]
    if not earlier:
        rows, widths[6] = [(*row[:6], "", row[7]) for row in rows], 0
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)).rstrip()


def write_figures(measurements: Sequence[Measurement], file: Path) -> None:
    """Keep the figure of each row: {name: figure}."""
    file.write_text(json.dumps({row.name: round(row.figure, 5) for row in measurements}, indent=1) + "\n")


def read_figures(file: Path) -> dict[str, float]:
    """Return what `write_figures` kept. Raises OSError, ValueError."""
    try:
        return {str(name): float(figure) for name, figure in json.loads(file.read_text()).items()}
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{file} holds no figures; write them by --out FILE") from None


def _time(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 20 else f"{value:.1f}" if abs(value) >= 2 else f"{value:.2f}"
