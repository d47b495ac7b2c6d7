"""A shape that might be what was seen."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from pipeline.assets import shapes
from pipeline.assets.shapes import Solid

SMALLEST = 0.004
"""No extent is thinner than this, in metres: thinner collides badly."""
PAINT: Image.Image = shapes.plain((128, 128, 128))
"""Until the photograph is laid on it."""


@dataclass(frozen=True, eq=False)
class Proposal:
    way: str
    """One of WAYS."""
    solid: Solid
    """In world axes."""
    yaw: float
    """Turn about z of the axes the asset is to have, in radians."""
    freedom: int
    """How many numbers were chosen to make it fit."""
    said: str
    """What it is, as a person would say: "a box", "a turned profile, lying"."""
    hollow: bool = False
    agreed: bool = False
    """Whether it was fitted to the rays, and not to the points alone."""


def about_z(yaw: float) -> np.ndarray:
    """A turn about z, of shape (3, 3)."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def at(solid: Solid, rotation: np.ndarray, pos: np.ndarray) -> Solid:
    """A solid turned by (3, 3), then moved by (3,)."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, pos
    return solid.moved(matrix)
