"""Defines ShapeProposal, a shape fitted to the observed surface."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from pipeline.assets import solids
from pipeline.assets.solids import Solid

MIN_EXTENT_M = 0.004
"""Smallest extent of a shape: thinner ones collide badly."""
PLACEHOLDER_TEXTURE: Image.Image = solids.plain_texture((128, 128, 128))
"""Texture of a shape until the photograph is projected on it."""


@dataclass(frozen=True, eq=False)
class ShapeProposal:
    """A shape that may explain an observation."""

    method: str
    """One of RECONSTRUCTION_METHODS."""
    solid: Solid
    """In world axes."""
    yaw: float
    """Rotation about z of the asset's axes, in radians."""
    parameter_count: int
    """Number of fitted parameters."""
    label: str
    """Short description: "a box", "a turned profile, lying"."""
    is_hollow: bool = False
    fitted_to_rays: bool = False
    """Whether it was fitted to the rays, not to the points alone."""


def placed_solid(solid: Solid, rotation: np.ndarray, pos: np.ndarray) -> Solid:
    """Return a solid rotated by (3, 3), then moved by (3,)."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, pos
    return solid.transformed(matrix)
