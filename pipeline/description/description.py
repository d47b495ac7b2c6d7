"""What each segment is, measured: colour, shape, metric size, and so a name."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from pipeline.errors import StudioError

Shape = Literal["box", "cube", "cylinder", "sphere", "bowl", "irregular"]


@dataclass(frozen=True, eq=False)
class Attributes:
    """What can be measured of an object."""

    colour: str
    """A basic colour name: red, orange, yellow, green, blue, purple, pink, brown, black, white, grey."""
    rgb: tuple[int, int, int]
    """The typical sRGB colour, 0-255."""
    shape: Shape
    size: np.ndarray
    """Extents in metres of shape (3,): along the object's own upright box's two ground axes, then its height."""
    yaw: float
    """Turn of that box about world z, in radians."""
    centre: np.ndarray
    """Of the box, in world axes, of shape (3,), in metres."""
    fit_error: float
    """Median distance in metres from the points to the fitted primitive."""
    material: str = ""
    text: str = ""
    """Words read on the object; empty where nobody read any."""


@dataclass(frozen=True, eq=False)
class Description:
    segment_id: int
    is_object: bool
    name: str
    """Unique in a scene, words joined by "_", fit for a MuJoCo body: "red_cube", "red_cube_2"."""
    caption: str
    attributes: Attributes
    confidence: float = 1.0
    """In [0, 1]."""
    source: str = "measured"
    """"measured", a model's name, or "human"."""
    warnings: tuple[str, ...] = field(default=())
    """What is in doubt, one sentence each ("only 40 points")."""
    failure: str = ""
    """Why the model that was asked gave no answer, so that this is measured; empty where it did or nobody asked."""


class DescriptionError(StudioError):
    """A descriptions.json that cannot be read."""


def to_json(descriptions: Iterable[Description]) -> str:
    """The text of descriptions.json."""
    return json.dumps([_plain(asdict(description)) for description in descriptions], indent=1, ensure_ascii=False)


def from_json(text: str) -> tuple[Description, ...]:
    """What `to_json` wrote. Raises DescriptionError."""
    try:
        return tuple(_description(entry) for entry in json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        told = f"{type(error).__name__}: {error}"
        raise DescriptionError(f"descriptions.json cannot be read ({told}); compute the descriptions again.") from None


def _description(entry: dict) -> Description:
    seen = dict(entry["attributes"])
    seen |= {
        "size": np.array(seen["size"], float),
        "centre": np.array(seen["centre"], float),
        "rgb": tuple(seen["rgb"]),
    }
    return Description(**entry | {"attributes": Attributes(**seen), "warnings": tuple(entry.get("warnings", ()))})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return [round(float(entry), 5) for entry in value]
    return round(value, 5) if isinstance(value, float) else value
