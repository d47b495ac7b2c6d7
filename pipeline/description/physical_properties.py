"""Ask a model how heavy, slippery and long an object may be, each as a range, as in Gen2Sim (Katara et al. 2023)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from pipeline.errors import single_line
from pipeline.models import Model, ModelError, Question, source_of

KIND = "weigh_object"
LIGHTEST_KG = 0.0005
"""Lighter objects simulate badly; the least that a person can enter."""
Range = tuple[float, float]


class WeightAnswer(BaseModel):
    lightest_g: float
    likely_g: float
    heaviest_g: float
    least_friction: float
    likely_friction: float
    most_friction: float
    shortest_cm: float
    longest_cm: float
    reason: str = Field(min_length=1, max_length=400)


@dataclass(frozen=True)
class PhysicalEstimate:
    """A model's estimate for one object; each range contains its likely value."""

    mass: float
    """In kg."""
    mass_range: Range
    """In kg."""
    friction: float
    """Sliding friction, the first of MuJoCo's three coefficients."""
    friction_range: Range
    length_range: Range
    """Longest side of nearly all objects of its kind, in metres, whatever was measured."""
    reason: str
    source: str
    """ "model " followed by the model's name."""

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "PhysicalEstimate":
        """Inverse of `dataclasses.asdict`. Raises KeyError, TypeError, ValueError."""
        mass, friction, length = (_positive_range(value[f"{name}_range"]) for name in ("mass", "friction", "length"))
        return PhysicalEstimate(
            float(value["mass"]), mass, float(value["friction"]), friction, length,
            str(value["reason"]), str(value["source"]),
        )  # fmt: skip

    def times_too_long(self, size: np.ndarray) -> float:
        """Return how many times longer an object of `size` (3,) in metres is than its range; 1 within it."""
        return _times_too_long(size, self.length_range)


def _times_too_long(size: np.ndarray, length_range: Range) -> float:
    longest, (low, high) = float(np.max(size)), length_range
    return longest / float(np.clip(longest, low, high))


def _range(value: Any) -> Range:
    low, high = value
    return float(low), float(high)


def _positive_range(value: Any) -> Range:
    """Return two ends of a range. Raises ValueError if one is not positive and finite."""
    low, high = _range(value)
    if not 0 < low <= high < np.inf:
        raise ValueError(f"{low} to {high} is no range")
    return low, high


def question(about: Mapping[str, Any], subject: str) -> Question:
    """Return the question about one object; equal for equal objects.

    Args:
        about: "name", "caption", "kind", "size" (3,) in metres with the height last, "hollow".
        subject: "object <id>" or "asset <id>", for the trace.
    """
    size_cm = [round(100 * float(edge), 1) for edge in about["size"]]
    plain = {"name": str(about["name"]).replace("_", " "), "caption": about["caption"], "kind": about["kind"]}
    data = plain | {"size_cm": size_cm, "hollow": bool(about["hollow"])}
    return Question(KIND, {"object": data}, WeightAnswer, subject=subject)


def estimate_physical_properties(model: Model, about: Mapping[str, Any], subject: str) -> PhysicalEstimate:
    """Ask a model for an object's mass, friction and length; `about` and `subject` are those of `question`.

    Raises ModelError if the model fails or its answer is impossible for an object of that size.
    """
    answer = model.ask(question(about, subject))
    assert isinstance(answer, WeightAnswer)
    source = source_of(model, KIND)
    grams = np.sort([answer.lightest_g, answer.likely_g, answer.heaviest_g])
    frictions = np.sort([answer.least_friction, answer.likely_friction, answer.most_friction])
    lengths = _range(np.sort([answer.shortest_cm, answer.longest_cm]) / 100)
    # 10 m: longer than anything on a table; NaN compares as false
    possible = 0 < lengths[0] <= lengths[1] < 10
    # of a measured size that the model's range excludes, the mass is that of a believable one
    volume = float(np.prod(about["size"])) / (_times_too_long(about["size"], lengths) ** 3 if possible else 1)
    # (2.0, 20_000.0): densities of the size box that are accepted, in kg/m^3: from a crumpled bag to solid gold
    low, high = (density * volume * 1000 for density in (2.0, 20_000.0))
    # Friction coefficients that are accepted
    least, most = (0.01, 3.0)
    possible = possible and low <= grams[0] and grams[2] <= high
    if not (possible and least <= frictions[0] and frictions[2] <= most):
        size = " x ".join(f"{100 * edge:.0f}" for edge in about["size"])
        raise ModelError(
            f"{source} says {grams[0]:.3g} to {grams[2]:.3g} g, friction {frictions[0]:.2g} to {frictions[2]:.2g} and "
            f"{100 * lengths[0]:.3g} to {100 * lengths[1]:.3g} cm for {about['name']} of {size} cm, which is "
            "impossible; enter the numbers yourself or ask again."
        )
    return PhysicalEstimate(
        max(answer.likely_g / 1000, LIGHTEST_KG),
        (max(float(grams[0]) / 1000, LIGHTEST_KG), max(float(grams[2]) / 1000, LIGHTEST_KG)),
        answer.likely_friction,
        (float(frictions[0]), float(frictions[2])),
        lengths,
        single_line(answer.reason),
        f"model {source}",
    )
