"""What a model that sees pictures says of a segment, where depth and colour have measured it before."""

from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field

from pipeline.description.describe import renamed
from pipeline.description.description import Description
from pipeline.frame import Frame
from pipeline.models import Model, ModelError, Question, Stopped, source_of
from pipeline.models.failures import readable
from pipeline.models.pictures import cut_out, highlighted
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


def about(segment_id: int) -> str:
    """The object as the trace names it."""
    return f"object {segment_id}"


def tell(frame: Frame, segment: Segment, measured: Description, model: Model) -> Description:
    """What the model says it is, its size and shape as measured; the measured answer where the model fails.

    Raises Stopped.
    """
    try:
        answer = model.ask(question(frame, segment, measured))
    except Stopped:
        raise
    except ModelError as error:
        return replace(measured, failure=str(error))
    assert isinstance(answer, DescribedAnswer)
    seen = replace(
        measured.attributes,
        colour=answer.colour,
        material=readable(answer.material).lower(),
        text=readable(answer.text),
    )
    told = replace(
        measured,
        is_object=answer.is_object,
        caption=readable(answer.caption),
        attributes=seen,
        confidence=answer.confidence,
        source=source_of(model, KIND),
    )
    return renamed(told, readable(answer.name)[:40], ())


def question(frame: Frame, segment: Segment, measured: Description) -> Question:
    """The thing cut out on grey and outlined in the whole photograph, with what was measured of it."""
    seen = measured.attributes
    data = {
        "size_cm": [round(100 * float(extent), 1) for extent in seen.size],
        "colour": seen.colour,
        "shape": seen.shape,
        "doubts": list(measured.warnings),
    }
    pictures = cut_out(frame.rgb, segment.mask), highlighted(frame.rgb, segment.mask)
    shows = digest(frame.rgb, segment.mask)
    return Question(
        KIND, {"measured": data}, DescribedAnswer, pictures, must_see=True, about=about(segment.id), shows=shows
    )
