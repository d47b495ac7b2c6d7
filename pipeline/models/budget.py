"""Cost of model calls: estimated before a stage, counted as they happen, and limited by a ceiling."""

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pipeline.models.model import CODE_KINDS, ModelError
from pipeline.models.settings import DEFAULT_MODEL, OPENAI_URL, ModelSettings

TYPICAL_TOKENS = {
    "describe_segment": (1700, 120),
    "find_missed": (1300, 60),
    "describe_asset": (1000, 70),
    "choose_match": (2800, 90),
    "match_text": (4200, 160),
    "match_image": (3000, 160),
    "match_image_text": (3400, 160),
    "match_paper": (6000, 80),
    "judge_task": (3600, 60),
    "weigh_object": (650, 140),
    "propose_tasks": (4500, 900),
    "write_program": (11000, 2000),
    "route": (13500, 120),
    "repair_simulation": (15500, 1500),
}
"""Typical prompt tokens (pictures included) and answer tokens of each kind of question."""


@dataclass(frozen=True)
class Price:
    """Price of one model."""

    usd_per_million_in: float
    usd_per_million_out: float
    source: str
    """"your settings" or the name of the price list."""

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return USD."""
        return (prompt_tokens * self.usd_per_million_in + completion_tokens * self.usd_per_million_out) / 1e6


def model_price(settings: ModelSettings, model: str) -> Price | None:
    """Return the price of a model on the settings' server; None if unknown.

    Prices in the settings override the list of genai-prices, which identifies services by address.
    """
    if settings.usd_per_million_in is not None and settings.usd_per_million_out is not None:
        return Price(settings.usd_per_million_in, settings.usd_per_million_out, "your settings")
    return _list_price(model, settings.base_url or OPENAI_URL)


@cache
def _list_price(model: str, address: str) -> Price | None:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    try:
        price_in = calc_price(Usage(input_tokens=1_000_000), model, provider_api_url=address).total_price
        price_out = calc_price(Usage(output_tokens=1_000_000), model, provider_api_url=address).total_price
    except (LookupError, ValueError):
        return None
    return Price(float(price_in), float(price_out), "genai-prices")


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of a stage or of some questions."""

    items: str
    """What the calls are about: "14 objects"."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    """None if the price is unknown."""

    @property
    def sentence(self) -> str:
        """ "14 objects, about 14 calls, roughly $0.05"."""
        cost = "price unknown" if self.usd is None else f"roughly {format_usd(self.usd)}"
        return f"{self.items}, about {self.calls} call{'s' * (self.calls != 1)}, {cost}"


def estimate_step(settings: ModelSettings, stage: str, objects: int, undescribed: int = 0) -> Estimate:
    """Estimate a stage ("descriptions", "matches", "task", "rounds") for a number of objects; offline it has no calls.

    `undescribed` is the number of candidate assets without a caption: each is described once.
    """
    items = f"{objects} object{'s' * (objects != 1)}"
    asks_model = settings.pictures or stage in ("descriptions", "task", "rounds")
    if settings.service != "openai" or not asks_model:
        return Estimate(items, 0, 0, 0, 0.0)
    kinds = _questions(stage, objects, undescribed)
    if stage == "descriptions" and not settings.pictures:
        kinds = {"weigh_object": objects}
    total = estimate_questions(settings, kinds)
    return replace(total, items=items)


def estimate_questions(settings: ModelSettings, kinds: Mapping[str, int]) -> Estimate:
    """Estimate a number of questions of each kind."""
    prompt_tokens = sum(count * TYPICAL_TOKENS[kind][0] for kind, count in kinds.items())
    completion_tokens = sum(count * TYPICAL_TOKENS[kind][1] for kind, count in kinds.items())
    costs = [_cost(settings, kind, count) for kind, count in kinds.items()]
    usd = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Estimate("questions", sum(kinds.values()), prompt_tokens, completion_tokens, usd)


def _questions(stage: str, objects: int, undescribed: int) -> dict[str, int]:
    """Return how often a stage typically asks each kind."""
    return {
        "descriptions": {"describe_segment": objects, "find_missed": 1, "weigh_object": objects},
        "matches": {"choose_match": objects, "describe_asset": undescribed},
        "task": {"propose_tasks": 1},
        "rounds": {"write_program": 1, "route": 2, "repair_simulation": 2},
    }.get(stage, {})


def _cost(settings: ModelSettings, kind: str, count: int) -> float | None:
    model = (kind in CODE_KINDS and settings.code_model) or settings.model or DEFAULT_MODEL
    price = model_price(settings, model)
    return price and count * price.cost(*TYPICAL_TOKENS[kind])


class CeilingReached(ModelError):
    """The next call could exceed the cost ceiling; nothing was sent."""


class Budget:
    """A project's spending and its ceiling, in USD. Thread-safe."""

    def __init__(self, ceiling_usd: float | None = None, spent_usd: float = 0.0):
        self.ceiling_usd, self.spent_usd = ceiling_usd, spent_usd
        self._reserved, self._lock = 0.0, threading.Lock()

    def reserve(self, max_usd: float | None) -> float:
        """Reserve the most that a call can cost and return it. Raises CeilingReached if it may exceed the ceiling."""
        with self._lock:
            if self.ceiling_usd is not None and max_usd is None:
                raise CeilingReached(
                    f"The price of this model is unknown, so the ceiling of {format_usd(self.ceiling_usd)} cannot be "
                    "enforced; enter its price in the Models panel, or remove the ceiling."
                )
            amount = max_usd or 0.0
            if self.ceiling_usd is not None and self.spent_usd + self._reserved + amount > self.ceiling_usd:
                raise CeilingReached(
                    f"This call may cost {format_usd(amount)}, and {format_usd(self.spent_usd + self._reserved)} of "
                    f"the ceiling of {format_usd(self.ceiling_usd)} are spent or reserved; raise the ceiling in the "
                    "Models panel (GRS_CEILING_USD), or use the measured results."
                )
            self._reserved += amount
            return amount

    def settle(self, reserved: float, usd: float | None) -> None:
        """Replace a reservation by the actual cost; if that is unknown (None), the reservation counts as spent."""
        with self._lock:
            self._reserved -= reserved
            self.spent_usd += reserved if usd is None else usd


def spent_usd(lines: Iterable[Mapping[str, Any]]) -> float:
    """Return the USD spent in a trace; calls of unknown cost or without an end line count with their maximum."""
    counted: dict[str, float] = {}
    for line in lines:
        usd = line.get("may_cost_usd") if line.get("event") == "start" else line.get("counted_usd")
        if not isinstance(usd, int | float) or not 0 <= usd < math.inf:
            usd = 0.0
        counted[str(line.get("span_id"))] = usd
    return sum(counted.values())


def format_usd(usd: float) -> str:
    """ "$0.05", "less than $0.01", "$12.30"."""
    return "less than $0.01" if 0 < usd < 0.005 else f"${usd:.2f}"
