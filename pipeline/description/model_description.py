"""Describe a segment with a vision model, on top of its measured description."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from pipeline.description.description import Description
from pipeline.description.measure import with_name
from pipeline.errors import single_line, without_folders
from pipeline.frame import Frame
from pipeline.models import Model, ModelError, Question, StageCancelled, source_of
from pipeline.models.images import masked_crop, outline_in_frame
from pipeline.segmentation import Segment
from pipeline.store import digest

KIND = "describe_segment"
AFFORDANCES = ("handle", "spout", "lid", "press")
Colour = Literal["red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey"]


class Box(BaseModel):
    """A box in the second picture, as shares of its width and height, from 0 to 1."""

    left: float
    top: float
    right: float
    bottom: float

    def in_pixels(self, shape: tuple[int, ...]) -> list[float] | None:
        """Return x0, y0, x1, y1 in pixels of a frame (H, W); None for a box without an area within it."""
        width, height = shape[1], shape[0]
        x0, x1 = (float(np.clip(x, 0, 1)) * width for x in (self.left, self.right))
        y0, y1 = (float(np.clip(y, 0, 1)) * height for y in (self.top, self.bottom))
        return [round(side, 1) for side in (x0, y0, x1, y1)] if x1 - x0 >= 2 and y1 - y0 >= 2 else None


class AffordancePoint(BaseModel):
    """A part that a hand uses, and a point on it in the second picture, as shares of its width and height."""

    name: str
    """One of AFFORDANCES; others are left out."""
    x: float
    y: float


class DescribedAnswer(BaseModel):
    is_object: bool
    name: str = Field(min_length=1, max_length=60)
    caption: str = Field(min_length=1, max_length=300)
    colour: Colour
    material: str = Field(default="", max_length=40)
    text: str = Field(default="", max_length=200)
    confidence: float = Field(default=0.5, ge=0, le=1)
    # Most objects that one mask is divided into
    several_objects: list[Box] = Field(default_factory=list, max_length=8)
    """A box around each, if the mask shows more than one."""
    part_of: int = 0
    """Number of the mask that it belongs to; 0 for none."""
    whole: Box | None = None
    """A box around the whole object, if the mask shows only a part of it and no other mask the rest, or much else."""
    held: bool = False
    """Whether a hand or a robot holds it, so that it does not stand on the table."""
    affordances: list[AffordancePoint] = Field(default_factory=list)


def object_label(segment_id: int) -> str:
    """Return the name of an object in the trace of model calls."""
    return f"object {segment_id}"


def describe_with_model(
    frame: Frame, segment: Segment, measured: Description, model: Model, others: Sequence[Segment] = ()
) -> Description:
    """Return the model's description with the measured size and shape; the measured description if the model fails.

    `others` are numbered in the picture, so that the model can say what a part belongs to. Raises StageCancelled.
    """
    others = [one for one in others if one.id != segment.id]
    try:
        answer = model.ask(question(frame, segment, measured, others))
    except StageCancelled:
        raise
    except ModelError as error:
        return replace(measured, failure=without_folders(str(error)))
    assert isinstance(answer, DescribedAnswer)
    attributes = replace(
        measured.attributes,
        colour=answer.colour,
        material=single_line(answer.material).lower(),
        text=single_line(answer.text),
    )
    described = replace(
        measured,
        is_object=answer.is_object and not answer.held,
        caption=single_line(answer.caption),
        attributes=attributes,
        confidence=answer.confidence,
        source=source_of(model, KIND),
        mask_answer=_mask_answer(answer, frame.depth.shape, {one.id for one in others}),
        affordances=_affordances_on(answer.affordances, segment.mask),
    )
    if answer.held:
        described = replace(described, warnings=(*described.warnings, "It is held, and does not stand on the table."))
    return with_name(described, single_line(answer.name)[:40], ())


def _mask_answer(answer: DescribedAnswer, shape: tuple[int, ...], others: Collection[int]) -> dict[str, Any]:
    """Return what the answer says of the mask; what names no mask, or has no area, is left out."""
    boxes = [box for one in answer.several_objects if (box := one.in_pixels(shape))]
    whole = answer.whole.in_pixels(shape) if answer.whole else None
    said = {
        "objects": boxes if len(boxes) > 1 else None,
        "part_of": answer.part_of if answer.part_of in others else None,
        "whole": whole,
        "held": answer.held or None,
    }
    return {name: value for name, value in said.items() if value is not None}


def _affordances_on(points: Sequence[AffordancePoint], mask: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the pixels of the points that lie on a mask (H, W), by name; a second handle is "handle_2"."""
    height, width = mask.shape
    pixels: dict[str, tuple[float, float]] = {}
    # Most points of one object
    for one in [one for one in points if one.name in AFFORDANCES][:6]:
        if not (0 <= one.x < 1 and 0 <= one.y < 1):
            continue
        x, y = int(one.x * width), int(one.y * height)
        if not mask[y, x]:
            continue
        number = sum(name.startswith(one.name) for name in pixels) + 1
        pixels[one.name if number == 1 else f"{one.name}_{number}"] = float(x), float(y)
    return pixels


def question(frame: Frame, segment: Segment, measured: Description, others: Sequence[Segment] = ()) -> Question:
    """Return the question: the object's measurements, with a crop of it on grey and its outline in the photograph."""
    attributes = measured.attributes
    data = {
        "size_cm": [round(100 * float(extent), 1) for extent in attributes.size],
        "colour": attributes.colour,
        "shape": attributes.shape,
        "doubts": list(measured.warnings),
    }
    numbered = {one.id: one.mask for one in others}
    images = masked_crop(frame.rgb, segment.mask), outline_in_frame(frame.rgb, segment.mask, others=numbered)
    picture_key = digest(frame.rgb, segment.mask)  # the numbers of others change with their masks, not the object
    return Question(
        KIND,
        {"measured": data},
        DescribedAnswer,
        images,
        needs_vision=True,
        subject=object_label(segment.id),
        picture_key=picture_key,
    )
