"""What calls cost: told before a large step, counted as they happen, and never more than the ceiling."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pipeline.models.model import CODE, ModelError
from pipeline.models.settings import DEFAULT, ModelSettings

OPENAI = "https://api.openai.com/v1"
TOKENS = {
    "describe_segment": (1700, 120),
    "describe_asset": (1000, 70),
    "choose_match": (2800, 90),
    "match_text": (4200, 160),
    "match_image": (3000, 160),
    "match_image_text": (3400, 160),
    "weigh_object": (450, 110),
    "propose_tasks": (4500, 900),
    "write_program": (9000, 2000),
    "route": (12000, 120),
    "repair_simulation": (13000, 1500),
}
"""Tokens asked and answered by each kind of question, about, pictures included."""


@dataclass(frozen=True)
class Price:
    """USD for a million tokens."""

    asked: float
    answered: float
    source: str
    """"your settings" or the price list's name."""

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self.asked + completion_tokens * self.answered) / 1e6


def price(settings: ModelSettings, model: str) -> Price | None:
    """Of a model on the settings' server; None where it is unknown, which is not the same as nothing.

    A user's own price wins over the list of genai-prices, which knows the services by their addresses.
    """
    if settings.usd_per_million_in is not None and settings.usd_per_million_out is not None:
        return Price(settings.usd_per_million_in, settings.usd_per_million_out, "your settings")
    return _listed(model, settings.base_url or OPENAI)


@cache
def _listed(model: str, address: str) -> Price | None:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    try:
        asked = calc_price(Usage(input_tokens=1_000_000), model, provider_api_url=address).total_price
        answered = calc_price(Usage(output_tokens=1_000_000), model, provider_api_url=address).total_price
    except (LookupError, ValueError):
        return None
    return Price(float(asked), float(answered), "genai-prices")


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


def estimate_step(settings: ModelSettings, stage: str, objects: int, undescribed: int = 0) -> Estimate:
    """Of a stage ("descriptions", "matches", "task", "rounds") about so many objects. Offline: no calls.

    `undescribed` is how many assets without a caption may be candidates: each is described once.
    """
    things = f"{objects} object{'s' * (objects != 1)}"
    looks = settings.pictures or stage in ("task", "rounds")
    if settings.service != "openai" or not looks:
        return Estimate(things, 0, 0, 0, 0.0)
    told = estimate_questions(settings, _questions(stage, objects, undescribed))
    return Estimate(things, told.calls, told.prompt_tokens, told.completion_tokens, told.usd)


def estimate_questions(settings: ModelSettings, kinds: Mapping[str, int]) -> Estimate:
    """Of so many questions of each kind."""
    asked = sum(count * TOKENS[kind][0] for kind, count in kinds.items())
    answered = sum(count * TOKENS[kind][1] for kind, count in kinds.items())
    costs = [_cost(settings, kind, count) for kind, count in kinds.items()]
    usd = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Estimate("questions", sum(kinds.values()), asked, answered, usd)


def _questions(stage: str, objects: int, undescribed: int) -> dict[str, int]:
    """How often a stage asks each kind, usually."""
    return {
        "descriptions": {"describe_segment": objects},
        "matches": {"choose_match": objects, "describe_asset": undescribed},
        "task": {"propose_tasks": 1},
        "rounds": {"write_program": 1, "route": 2, "repair_simulation": 2},
    }.get(stage, {})


def _cost(settings: ModelSettings, kind: str, count: int) -> float | None:
    model = (kind in CODE and settings.code_model) or settings.model or DEFAULT
    known = price(settings, model)
    return known and count * known.of(*TOKENS[kind])


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


def spent(lines: Iterable[Mapping[str, Any]]) -> float:
    """What a trace tells of, in USD; calls of unknown cost, and those that a crash cut off, count in full."""
    counted: dict[str, float] = {}
    for line in lines:
        usd = line.get("may_cost_usd") if line.get("event") == "start" else line.get("counted_usd")
        counted[str(line.get("span_id"))] = float(usd or 0.0)
    return sum(counted.values())


def dollars(usd: float) -> str:
    """ "$0.05", "less than $0.01", "$12.30"."""
    return "less than $0.01" if 0 < usd < 0.005 else f"${usd:.2f}"
