"""Token counts and cost of answers; None, never 0, if unknown."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipeline.models.costs.budget import Price


@dataclass(frozen=True)
class Usage:
    """Token counts and cost of one or more replies; None for what is unknown."""

    prompt: int | None = None
    """Prompt tokens."""
    completion: int | None = None
    """Answer tokens."""
    cost: float | None = None
    """USD."""

    @staticmethod
    def from_server(usage: Mapping[str, Any]) -> "Usage":
        """Return the counts of a server's usage object; implausible values are None."""
        return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))

    def plausible(self, max_prompt: int, max_completion: int, text: str) -> "Usage":
        """Return the usage without impossible counts: more than sent or allowed, or 0 for a non-empty text."""
        prompt = self.prompt if self.prompt is not None and 0 < self.prompt <= max_prompt else None
        minimum = 1 if text else 0
        known = self.completion is not None and minimum <= self.completion <= max(max_completion, len(text.encode()))
        return Usage(prompt, self.completion if known else None)

    def with_cost(self, price: Price | None) -> "Usage":
        """Return the usage with its cost; unchanged if price or counts are unknown."""
        if price is None or self.prompt is None or self.completion is None:
            return self
        return replace(self, cost=price.cost(self.prompt, self.completion))

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum; what is unknown in either is unknown in the sum."""
        mine, others = (self.prompt, self.completion, self.cost), (other.prompt, other.completion, other.cost)
        return Usage(*map(_sum, mine, others))

    @property
    def attributes(self) -> dict[str, Any]:
        """The trace attributes of the known values."""
        values = {
            "llm.token_count.prompt": self.prompt,
            "llm.token_count.completion": self.completion,
            "llm.token_count.total": _sum(self.prompt, self.completion),
            "llm.cost.total": None if self.cost is None else round(self.cost, 8),
        }
        return {name: value for name, value in values.items() if value is not None}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None


def _sum(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a + b
