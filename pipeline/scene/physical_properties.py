"""Ask a model for an object's mass and friction, each as a plausible range, as in Gen2Sim (Katara et al. 2023)."""

from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, Field

from pipeline.errors import single_line
from pipeline.models import Model, ModelError, Question, source_of
from pipeline.scene.placement import Placement

QUESTION_KIND = "weigh_object"


class WeightAnswer(BaseModel):
    lightest_g: float
    likely_g: float
    heaviest_g: float
    least_friction: float
    likely_friction: float
    most_friction: float
    reason: str = Field(min_length=1, max_length=400)


@dataclass(frozen=True)
class PhysicalEstimate:
    """A model's estimate for one object; each range contains its likely value."""

    mass: float
    """In kg."""
    mass_range: tuple[float, float]
    """In kg."""
    friction: float
    friction_range: tuple[float, float]
    reason: str
    source: str
    """ "model " followed by the model's name."""


def question(p: Placement, caption: str = "") -> Question:
    """Return the question about one object; equal for equal objects."""
    data = {
        "name": p.name.replace("_", " "),
        "caption": caption,
        "kind": p.category or p.shape,
        "size_cm": [round(100 * float(edge), 1) for edge in p.size],
        "hollow": p.container,
    }
    return Question(QUESTION_KIND, {"object": data}, WeightAnswer, subject=f"object {p.segment_id}")


def estimate_physical_properties(model: Model, p: Placement, caption: str = "") -> PhysicalEstimate:
    """Ask a model for an object's mass and friction.

    Raises ModelError if the model fails or its answer is impossible for an object of that size.
    """
    answer = model.ask(question(p, caption))
    assert isinstance(answer, WeightAnswer)
    volume = float(np.prod(p.size))
    grams = np.sort([answer.lightest_g, answer.likely_g, answer.heaviest_g])
    frictions = np.sort([answer.least_friction, answer.likely_friction, answer.most_friction])
    # (2.0, 20_000.0): densities of the size box that are accepted, in kg/m^3: from a crumpled bag to solid gold
    low, high = (density * volume * 1000 for density in (2.0, 20_000.0))
    # Friction coefficients that are accepted
    least, most = (0.01, 3.0)
    if not (low <= grams[0] and grams[2] <= high and least <= frictions[0] and frictions[2] <= most):
        size = " x ".join(f"{100 * edge:.0f}" for edge in p.size)
        raise ModelError(
            f"{source_of(model, QUESTION_KIND)} says {grams[0]:.3g} to {grams[2]:.3g} g and friction "
            f"{frictions[0]:.2g} to {frictions[2]:.2g} for {p.name} of {size} cm, which is impossible; "
            "enter the numbers yourself or ask again."
        )
    return PhysicalEstimate(
        answer.likely_g / 1000,
        (float(grams[0]) / 1000, float(grams[2]) / 1000),
        answer.likely_friction,
        (float(frictions[0]), float(frictions[2])),
        single_line(answer.reason),
        f"model {source_of(model, QUESTION_KIND)}",
    )
