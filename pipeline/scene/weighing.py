"""What a model says an object weighs and how it slides, as Gen2Sim (Katara et al. 2023) asks: a range for its kind."""

from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, Field

from pipeline.models import Model, ModelError, Question, source_of
from pipeline.models.failures import readable
from pipeline.scene.placement import Placement

KIND = "weigh_object"
DENSITIES = (2.0, 20_000.0)
"""Of the size box, in kg/m^3: between a crumpled bag and solid gold nothing is refused."""
SLIDES = (0.01, 3.0)


class WeightAnswer(BaseModel):
    lightest_g: float
    likely_g: float
    heaviest_g: float
    least_friction: float
    likely_friction: float
    most_friction: float
    reason: str = Field(min_length=1, max_length=400)


@dataclass(frozen=True)
class Weighed:
    """What a model says of one object; each range holds its likely value."""

    mass: float
    """In kg."""
    mass_range: tuple[float, float]
    friction: float
    friction_range: tuple[float, float]
    reason: str
    source: str
    """ "model " and the model's name."""


def question(p: Placement, caption: str = "") -> Question:
    data = {
        "name": p.name.replace("_", " "),
        "caption": caption,
        "kind": p.category or p.shape,
        "size_cm": [round(100 * float(edge), 1) for edge in p.size],
        "hollow": p.container,
    }
    return Question(KIND, {"object": data}, WeightAnswer, about=f"object {p.segment_id}")


def weigh(model: Model, p: Placement, caption: str = "") -> Weighed:
    """Raises ModelError where the model fails or says what no thing of that size can weigh."""
    answer = model.ask(question(p, caption))
    assert isinstance(answer, WeightAnswer)
    room = float(np.prod(p.size))
    grams = np.sort([answer.lightest_g, answer.likely_g, answer.heaviest_g])
    slides = np.sort([answer.least_friction, answer.likely_friction, answer.most_friction])
    low, high = (density * room * 1000 for density in DENSITIES)
    if not (low <= grams[0] and grams[2] <= high and SLIDES[0] <= slides[0] and slides[2] <= SLIDES[1]):
        size = " x ".join(f"{100 * edge:.0f}" for edge in p.size)
        raise ModelError(
            f"{source_of(model, KIND)} says {grams[0]:.3g} to {grams[2]:.3g} g and friction {slides[0]:.2g} to "
            f"{slides[2]:.2g} for {p.name} of {size} cm, which cannot be; write the numbers yourself or ask again."
        )
    return Weighed(
        answer.likely_g / 1000,
        (float(grams[0]) / 1000, float(grams[2]) / 1000),
        answer.likely_friction,
        (float(slides[0]), float(slides[2])),
        readable(answer.reason),
        f"model {source_of(model, KIND)}",
    )
