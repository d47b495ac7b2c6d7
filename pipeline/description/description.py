"""Descriptions of segments: name, caption and measured attributes."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from pipeline.description.physical_properties import PhysicalEstimate
from pipeline.errors import StudioError, reason_of
from pipeline.store import parse_json

Shape = Literal["box", "cube", "cylinder", "sphere", "bowl", "irregular"]


@dataclass(frozen=True, eq=False)
class Attributes:
    """Measured attributes of an object."""

    colour: str
    """A basic colour name: red, orange, yellow, green, blue, purple, pink, brown, black, white, grey."""
    rgb: tuple[int, int, int]
    """The typical sRGB colour, 0-255."""
    shape: Shape
    size: np.ndarray
    """Of the object's upright bounding box, in metres, of shape (3,): along its two ground axes, then its height."""
    yaw: float
    """Rotation of that box about world z, in radians."""
    centre: np.ndarray
    """Centre of that box in world axes, of shape (3,), in metres."""
    fit_error: float
    """Median distance in metres from the points to the fitted primitive."""
    material: str = ""
    text: str = ""
    """Words read on the object; empty if there are none."""
    shape_is_sure: bool = True
    """Whether the points leave no doubt about the shape."""


@dataclass(frozen=True, eq=False)
class Description:
    """A segment's name, caption and attributes."""

    segment_id: int
    is_object: bool
    name: str
    """Unique in a scene and valid as the name of a MuJoCo body: "red_cube", "red_cube_2"."""
    caption: str
    attributes: Attributes
    confidence: float = 1.0
    """In [0, 1]."""
    source: str = "measured"
    """"measured", a model's name, or "human"."""
    warnings: tuple[str, ...] = field(default=())
    """Doubts, one sentence each ("only 40 points")."""
    mask_answer: Mapping[str, Any] = field(default_factory=dict)
    """What a model says of a mask that is not one whole object: "objects" (a box each), "whole" (its box), "part_of"
    (id of a segment), "held". Boxes are x0, y0, x1, y1 in pixels of the frame."""
    failure: str = ""
    """Why the language model gave no answer, so that measurements are used; empty if it did or was not asked."""
    physical: PhysicalEstimate | None = None
    """What a language model says of its mass, friction and length; None if none was asked or it gave no answer."""
    affordances: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """A pixel (x, y) of the frame on each part that a hand uses, by name: "handle", "handle_2", "spout", "lid",
    "press"."""


class DescriptionError(StudioError):
    """A descriptions.json that cannot be read."""


def to_json(descriptions: Iterable[Description]) -> str:
    """Return the text of descriptions.json."""
    return json.dumps([_rounded(asdict(description)) for description in descriptions], indent=1, ensure_ascii=False)


def from_json(text: str) -> tuple[Description, ...]:
    """Inverse of `to_json`. Raises DescriptionError."""
    try:
        return tuple(_description(entry) for entry in parse_json(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {reason_of(error)}"
        raise DescriptionError(
            f"descriptions.json cannot be read ({reason}); compute the descriptions again."
        ) from None


def _description(entry: dict) -> Description:
    attributes = dict(entry["attributes"])
    attributes |= {
        "size": np.array(attributes["size"], float),
        "centre": np.array(attributes["centre"], float),
        "rgb": tuple(attributes["rgb"]),
    }
    made = {
        "attributes": Attributes(**attributes),
        "warnings": tuple(entry.get("warnings", ())),
        "affordances": {
            str(name): (float(x), float(y))
            for name, (x, y) in entry.get("affordances", {}).items()
            if str(name).isidentifier()
        },
    }
    if entry.get("physical"):
        made["physical"] = PhysicalEstimate.from_json(entry["physical"])
    return Description(**entry | made)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return [round(float(entry), 5) for entry in value]
    return round(value, 5) if isinstance(value, float) else value
