"""Ask a vision model once a frame which objects have no mask."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from pipeline.description.model_description import Box
from pipeline.errors import single_line
from pipeline.frame import Frame
from pipeline.models import Model, Question
from pipeline.models.images import set_of_marks
from pipeline.segmentation import Segment
from pipeline.store import digest

KIND = "find_missed"


class Point(BaseModel):
    """A point in the picture, as shares of its width and height, from 0 to 1."""

    x: float
    y: float


class MissedObject(BaseModel):
    """An object without a number: its name, and a box around it or a point on it."""

    name: str = Field(min_length=1, max_length=60)
    box: Box | None = None
    point: Point | None = None


class MissedAnswer(BaseModel):
    # Most objects of one answer: the labelled frames have up to 24
    missed: list[MissedObject] = Field(default_factory=list, max_length=24)


def find_missed(frame: Frame, segments: Sequence[Segment], model: Model) -> list[dict[str, Any]]:
    """Return what the model sees on the table that has no mask, at most once each: "name" with "box" or "point".

    Boxes are x0, y0, x1, y1 and points x, y, in pixels of the frame. What has neither within the frame is left out.
    Raises ModelError.
    """
    answer = model.ask(question(frame, segments))
    assert isinstance(answer, MissedAnswer)
    places = ({"name": single_line(one.name)[:40]} | _place(one, frame.depth.shape) for one in answer.missed)
    return [one for one in places if len(one) > 1]


def question(frame: Frame, segments: Sequence[Segment]) -> Question:
    """Return the question: the photograph with the number of each mask on it.

    Its key is the photograph alone, so that it is asked once a frame, whatever becomes of the masks.
    """
    pictures = (set_of_marks(frame.rgb, {one.id: one.mask for one in segments}),)
    return Question(KIND, {}, MissedAnswer, pictures, needs_vision=True, picture_key=digest(frame.rgb))


def _place(one: MissedObject, shape: tuple[int, ...]) -> dict[str, Any]:
    if box := one.box and one.box.in_pixels(shape):
        return {"box": box}
    if one.point and 0 <= one.point.x < 1 and 0 <= one.point.y < 1:
        return {"point": [float(np.round(one.point.x * shape[1], 1)), float(np.round(one.point.y * shape[0], 1))]}
    return {}
