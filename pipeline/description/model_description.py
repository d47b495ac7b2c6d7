"""Describe a segment with a vision model, on top of its measured description."""

from dataclasses import replace
from typing import Literal

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
Colour = Literal["red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey"]


class DescribedAnswer(BaseModel):
    is_object: bool
    name: str = Field(min_length=1, max_length=60)
    caption: str = Field(min_length=1, max_length=300)
    colour: Colour
    material: str = Field(default="", max_length=40)
    text: str = Field(default="", max_length=200)
    confidence: float = Field(default=0.5, ge=0, le=1)


def object_label(segment_id: int) -> str:
    """Return the name of an object in the trace of model calls."""
    return f"object {segment_id}"


def describe_with_model(frame: Frame, segment: Segment, measured: Description, model: Model) -> Description:
    """Return the model's description with the measured size and shape; the measured description if the model fails.

    Raises StageCancelled.
    """
    try:
        answer = model.ask(question(frame, segment, measured))
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
        is_object=answer.is_object,
        caption=single_line(answer.caption),
        attributes=attributes,
        confidence=answer.confidence,
        source=source_of(model, KIND),
    )
    return with_name(described, single_line(answer.name)[:40], ())


def question(frame: Frame, segment: Segment, measured: Description) -> Question:
    """Return the question: the object's measurements, with a crop of it on grey and its outline in the photograph."""
    attributes = measured.attributes
    data = {
        "size_cm": [round(100 * float(extent), 1) for extent in attributes.size],
        "colour": attributes.colour,
        "shape": attributes.shape,
        "doubts": list(measured.warnings),
    }
    images = masked_crop(frame.rgb, segment.mask), outline_in_frame(frame.rgb, segment.mask)
    picture_key = digest(frame.rgb, segment.mask)
    return Question(
        KIND,
        {"measured": data},
        DescribedAnswer,
        images,
        needs_vision=True,
        subject=object_label(segment.id),
        picture_key=picture_key,
    )
