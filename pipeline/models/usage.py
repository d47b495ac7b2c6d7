"""Tokens and cost of answers: as the server says where that can be, unknown where it cannot, never 0 for unknown."""

from dataclasses import dataclass, replace
from typing import Any

from pipeline.models.budget import Price


@dataclass(frozen=True)
class Usage:
    """None where it is unknown."""

    prompt: int | None = None
    completion: int | None = None
    cost: float | None = None
    """USD."""

    @staticmethod
    def of(said: Any) -> "Usage":
        return Usage(_count(getattr(said, "prompt_tokens", None)), _count(getattr(said, "completion_tokens", None)))

    def plausible(self, most_prompt: int, most_completion: int, text: str) -> "Usage":
        """Without counts that cannot be: more than were sent or allowed, or none for a text."""
        prompt = self.prompt if self.prompt is not None and 0 < self.prompt <= most_prompt else None
        least = 1 if text else 0
        known = self.completion is not None and least <= self.completion <= max(most_completion, len(text.encode()))
        return Usage(prompt, self.completion if known else None)

    def priced(self, price: Price | None) -> "Usage":
        if price is None or self.prompt is None or self.completion is None:
            return self
        return replace(self, cost=price.of(self.prompt, self.completion))

    def plus(self, other: "Usage") -> "Usage":
        """Both together; what is unknown of one is unknown of the sum."""
        mine, others = (self.prompt, self.completion, self.cost), (other.prompt, other.completion, other.cost)
        return Usage(*map(_sum, mine, others))

    @property
    def attributes(self) -> dict[str, Any]:
        """As the trace names them; unknown ones are left out."""
        told = {
            "llm.token_count.prompt": self.prompt,
            "llm.token_count.completion": self.completion,
            "llm.token_count.total": _sum(self.prompt, self.completion),
            "llm.cost.total": None if self.cost is None else round(self.cost, 8),
        }
        return {name: value for name, value in told.items() if value is not None}


def _count(said: Any) -> int | None:
    return said if isinstance(said, int) and not isinstance(said, bool) and 0 <= said < 10**9 else None


def _sum(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one + other
