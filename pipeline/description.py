"""What each segment is, measured: colour, shape, metric size, and so a name."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

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
