"""Fits shapes to the camera's rays: a ShapeProposal is one that may explain an observation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image
from scipy.optimize import minimize

from pipeline.assets import solids
from pipeline.assets.reconstruct.view_observation import RayHits, SurfaceObservation
from pipeline.assets.solids import Solid
from pipeline.geometry import rotation_about_z

MIN_EXTENT_M = 0.004
"""Smallest extent of a shape: thinner ones collide badly."""
PLACEHOLDER_TEXTURE: Image.Image = solids.plain_texture((128, 128, 128))
"""Texture of a shape until the photograph is projected on it."""

PRIOR_WEIGHT, SHRINK_PENALTY = 0.01, 0.04
"""Weights of the distance from the prior, and of being smaller than it: they decide where rays say nothing."""


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


def fit_to_rays(
    observation: SurfaceObservation,
    hits: Callable[[SurfaceObservation, np.ndarray], RayHits],
    initial: np.ndarray,
    lengths: slice,
    # Evaluations of the cost in one fit
    max_evaluations: int = 160,
    prior: np.ndarray | None = None,
) -> np.ndarray:
    """Return the parameters near `initial` with the smallest ray error (Nelder-Mead).

    Args:
        observation: The rays and their measured depths.
        hits: Intersects the shape of given parameters with the rays of one view.
        initial: Where the search starts.
        lengths: The parameters that are lengths; they stay above MIN_EXTENT_M / 2.
        max_evaluations: Evaluations of the cost.
        prior: The parameters that the fit is pulled to; `initial` by default.
    """
    mean = initial if prior is None else prior

    def cost(x: np.ndarray) -> float:
        penalty = PRIOR_WEIGHT * float(np.linalg.norm(x - mean))
        penalty += SHRINK_PENALTY * float(np.linalg.norm(np.minimum(x - mean, 0)[lengths]))
        if min(x[lengths]) < MIN_EXTENT_M / 2:
            return 1.0
        return observation.mean_ray_error(lambda view: hits(view, x)) + penalty

    steps = np.full(len(initial), 0.006)
    steps[lengths] = -0.05 * initial[lengths]
    simplex = np.vstack([initial, initial + np.diag(steps)])
    options = {"initial_simplex": simplex, "maxfev": max_evaluations, "xatol": 2e-4, "fatol": 1e-6}
    return minimize(cost, initial, method="Nelder-Mead", options=options).x


def box_hits(observation: SurfaceObservation, centre: np.ndarray, yaw: float, size: np.ndarray) -> RayHits:
    """Intersect the rays with a box rotated about z, of `size` (3,) along its own axes."""
    rotation = rotation_about_z(yaw)
    origin, rays = (observation.camera_position - centre) @ rotation, _nonzero(observation.rays @ rotation)
    ends = np.stack([(-size / 2 - origin) / rays, (size / 2 - origin) / rays])
    near, far = ends.min(0), ends.max(0)
    along = near.max(1)
    return np.where((along < far.min(1)) & (along > 0), along, np.inf), rotation.T[near.argmax(1)]


def cylinder_hits(
    observation: SurfaceObservation, centre: np.ndarray, rotation: np.ndarray, radius: float, length: float
) -> RayHits:
    """Intersect the rays with a cylinder whose axis is the z axis of `rotation` (3, 3), world-from-cylinder."""
    origin, rays = (observation.camera_position - centre) @ rotation, _nonzero(observation.rays @ rotation)
    a = (rays[:, :2] ** 2).sum(1)
    b = rays[:, :2] @ origin[:2]
    discriminant = b**2 - a * (origin[:2] @ origin[:2] - radius**2)
    side = np.where(discriminant > 0, (-b - np.sqrt(discriminant.clip(0))) / a, np.inf)
    point = origin + np.where(np.isfinite(side), side, 0)[:, None] * rays
    side = np.where(np.abs(point[:, 2]) < length / 2, side, np.inf)
    end = (np.sign(origin[2]) * length / 2 - origin[2]) / rays[:, 2]
    on_end = ((origin[:2] + end[:, None] * rays[:, :2]) ** 2).sum(1) < radius**2
    end = np.where(on_end & (abs(origin[2]) > length / 2) & (end > 0), end, np.inf)
    normals = np.where((end < side)[:, None], [0.0, 0, 1], np.c_[point[:, :2] / radius, np.zeros(len(point))])
    return np.minimum(side, end), normals @ rotation.T


def sphere_hits(observation: SurfaceObservation, centre: np.ndarray, radius: float) -> RayHits:
    """Intersect the rays with a sphere."""
    origin, rays = observation.camera_position - centre, observation.rays
    a, b = (rays**2).sum(1), rays @ origin
    discriminant = b**2 - a * (origin @ origin - radius**2)
    along = np.where(discriminant > 0, (-b - np.sqrt(discriminant.clip(0))) / a, np.inf)
    return along, (origin + np.where(np.isfinite(along), along, 0)[:, None] * rays) / radius


def mesh_hits(observation: SurfaceObservation, vertices: np.ndarray, faces: np.ndarray) -> RayHits:
    """Intersect the rays with a mesh."""
    return observation.cast_rays(vertices, faces, observation.rays)


def _nonzero(rays: np.ndarray) -> np.ndarray:
    return np.where(np.abs(rays) < 1e-9, 1e-9, rays)
